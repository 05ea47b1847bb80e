#!/usr/bin/env python3
"""Files include what they use of the headers that are parsed once for all (cmake/layers.cmake, tests/CMakeLists.txt).

With those in front of every file a missing #include is found by no compiler. Here a file that uses a name of one of them must
include it, or a header of ours that does. Headers that none of these names are known of are looked at by `./dev check --tidy`
alone, for which nothing is parsed beforehand.
"""

import posixpath
import re

from common import files, finish, text_of

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.M)
# The names of each header that one meets; for those without any, whatever they are called.
STD = {
    "algorithm": "adjacent_find|all_of|any_of|binary_search|clamp|copy_if|copy_n|count|count_if|equal|fill|fill_n|find|find_if|"
                 "find_if_not|for_each|generate|includes|is_sorted|lexicographical_compare|lower_bound|max|max_element|merge|"
                 "min|min_element|minmax|minmax_element|mismatch|next_permutation|none_of|nth_element|partition|remove_if|"
                 "replace|reverse|rotate|search|set_difference|set_union|shuffle|sort|stable_partition|stable_sort|swap_ranges|"
                 "transform|unique|upper_bound|copy",
    "array": "array",
    "cmath": "acos|asin|atan|atan2|cbrt|ceil|copysign|cos|exp|exp2|fabs|floor|fma|fmax|fmin|fmod|frexp|hypot|ilogb|isfinite|"
             "isinf|isnan|ldexp|llround|log|log10|log2|lround|modf|nearbyint|nextafter|pow|remainder|rint|round|scalbn|signbit|"
             "sin|sqrt|tan|trunc",
    "cstdint": r"u?int(?:8|16|32|64|ptr)_t",
    "cstdlib": "_Exit|abort|atof|atoi|exit|free|getenv|malloc|strtod|strtol|strtoull|system",
    "cstring": "memcmp|memcpy|memmove|memset|strchr|strcmp|strerror|strlen|strncmp|strstr",
    "filesystem": "filesystem",
    "fstream": "fstream|ifstream|ofstream",
    "functional": "bind|cref|equal_to|function|greater|hash|invoke|less|minus|multiplies|plus|ref|reference_wrapper",
    "limits": "numeric_limits",
    "map": "map|multimap",
    "memory": r"addressof|construct_at|destroy_at|make_shared|make_unique|shared_ptr|uninitialized_\w+|unique_ptr|weak_ptr",
    "optional": "make_optional|nullopt|optional",
    "random": r"bernoulli_distribution|minstd_rand|mt19937(?:_64)?|normal_distribution|random_device|uniform_\w+_distribution",
    "set": "multiset|set",
    "sstream": "istringstream|ostringstream|stringstream",
    "string": "char_traits|getline|stod|stoi|stol|stoll|string|to_string",
    "string_view": "string_view",
    "utility": "as_const|declval|exchange|forward|in_place|index_sequence|make_pair|move|pair|swap",
    "variant": "get_if|holds_alternative|monostate|variant|visit",
    "vector": "vector",
}
NAMES = {header: re.compile(rf"std::(?:ranges::)?(?:{names})\b") for header, names in STD.items()} | {
    "fmt/format.h": re.compile(r"\bfmt::"),
    "gmock/gmock.h": re.compile(r"\bEXPECT_THAT\b|\btesting::(?:AllOf|Contains|Each|ElementsAre|HasSubstr|Not|StartsWith)\b"),
    "gtest/gtest.h": re.compile(r"\b(?:TEST|TEST_F|TEST_P|ADD_FAILURE|(?:EXPECT|ASSERT)_(?!THAT)[A-Z_]+)\b"),
}
# Headers that declare another's names, by the standard or because they cannot do without.
ALSO = {
    "gtest/gtest.h": {"gmock/gmock.h"},
    "utility": {"algorithm", "array", "functional", "map", "memory", "optional", "set", "string", "string_view", "tuple",
                "unordered_map", "unordered_set", "variant", "vector"},
    "fmt/format.h": {"fmt/ranges.h"},
    "cstdint": {"stdint.h"},
    "cstdlib": {"stdlib.h"},
    "cstring": {"string.h"},
}


def without_comments_and_texts(text):
    return re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"', "", text)


def check():
    findings = []
    texts = {str(path): text_of(path) for path in files("src/*.[ch]pp", "include/*.hpp", "include/*.h", "tests/*.[ch]pp")}
    named = {path: [target for _, target in INCLUDE.findall(text)] for path, text in texts.items()}

    def ours(path, target):
        part = "/".join(path.split("/")[:2])  # tests/io, which files of tests/io/more look in, too
        for folder in (posixpath.dirname(path), "src", "include", "tests", part):
            found = posixpath.normpath(posixpath.join(folder, target))
            if found in texts:
                return found
        return None

    def reached(path, seen):
        """The headers of others that a file includes, by itself or through ours."""
        if path in seen:
            return set()
        seen.add(path)
        headers = set()
        for target in named[path]:
            inner = ours(path, target)
            headers |= reached(inner, seen) if inner else {target}
        return headers

    uses = 0
    for path, text in texts.items():
        headers, code = reached(path, set()), without_comments_and_texts(text)
        for header, names in NAMES.items():
            match = names.search(code)
            if match is None:
                continue
            uses += 1
            if not headers & ({header} | ALSO.get(header, set())):
                findings.append(f"{path}: {match.group(0)} without #include <{header}>")
    finish("headers", findings, f"{uses} uses of headers by files that include them")


check()
