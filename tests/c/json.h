/* JSON as far as the tests look into it: is a text valid, and what stands at a path such as "diagnostics.0.line"? */
#ifndef TESSERA_TESTS_C_JSON_H_
#define TESSERA_TESTS_C_JSON_H_

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline const char* json_space(const char* s) {
  while (*s == ' ' || *s == '\n' || *s == '\t' || *s == '\r') ++s;
  return s;
}

/* Behind the value that begins here; NULL where there is none. */
static const char* json_skip(const char* s) {
  s = json_space(s);
  if (*s == '"') {
    for (++s; *s != '"'; ++s) {
      if ((unsigned char)*s < ' ') return NULL;
      if (*s == '\\' && *++s == '\0') return NULL;
    }
    return s + 1;
  }
  if (*s == '{' || *s == '[') {
    const int named = *s == '{';
    const char end = named ? '}' : ']';
    s = json_space(s + 1);
    if (*s == end) return s + 1;
    for (;;) {
      if (named) {
        if (*json_space(s) != '"' || (s = json_skip(s)) == NULL) return NULL;
        s = json_space(s);
        if (*s++ != ':') return NULL;
      }
      if ((s = json_skip(s)) == NULL) return NULL;
      s = json_space(s);
      if (*s == end) return s + 1;
      if (*s++ != ',') return NULL;
    }
  }
  static const char* const words[] = {"true", "false", "null"};
  for (int k = 0; k < 3; ++k)
    if (strncmp(s, words[k], strlen(words[k])) == 0) return s + strlen(words[k]);
  if (*s != '-' && (*s < '0' || *s > '9')) return NULL;
  char* end = NULL;
  strtod(s, &end);
  return end;
}

static inline int json_valid(const char* s) {
  return s != NULL && (s = json_skip(s)) != NULL && *json_space(s) == '\0';
}

/* The value at a path, NULL where there is none. The text is valid. */
static inline const char* json_find(const char* s, const char* path) {
  while (s != NULL && *path != '\0') {
    const size_t length = strcspn(path, ".");
    s = json_space(s);
    const int named = *s == '{';
    if (!named && *s != '[') return NULL;
    long left = named ? -1 : strtol(path, NULL, 10);
    for (++s;; ++s) {
      s = json_space(s);
      if (*s == '}' || *s == ']' || *s == '\0') return NULL;
      int is_it = left-- == 0;
      if (named) {
        const char* const name = s + 1;
        s = json_skip(s);
        is_it = (size_t)(s - 1 - name) == length && strncmp(name, path, length) == 0;
        s = json_space(s) + 1;
      }
      if (is_it) break;
      s = json_space(json_skip(s));
      if (*s != ',') return NULL;
    }
    path += length + (path[length] == '.');
  }
  return s == NULL ? NULL : json_space(s);
}

/* The same as text without quotes, "" where there is none, in memory that the next 8 calls leave alone. */
static inline const char* json_text(const char* s, const char* path) {
  static char all[8][400];
  static int next;
  char* const text = all[next++ % 8];
  const char* const from = json_find(s, path);
  const char* const end = from == NULL ? NULL : json_skip(from);
  text[0] = '\0';
  if (end != NULL) {
    const int quoted = *from == '"';
    snprintf(text, sizeof all[0], "%.*s", (int)(end - from) - 2 * quoted, from + quoted);
  }
  return text;
}

#endif
