# page.sh COMPILER SOURCE_FOLDER LIBRARY_FOLDER PROGRAM: the example of docs/c.md compiles and runs.
set -e
sed -n '/^```c$/,/^```$/p' "$2/docs/c.md" | sed '1d;$d' >"$4.c"
"$1" -std=c99 -Wall -Wextra -Werror -I"$2/include" "$4.c" -o "$4" -L"$3" -ltessera "-Wl,-rpath,$3"
[ "$("$4")" = "1.33333 2 2.66667" ]
