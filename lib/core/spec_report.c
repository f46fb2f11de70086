/* Problems of a specification: collected in order, printed with the line and a caret. */
#include "spec_table.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "dt/base/text.h"

#define SHOWN_COLUMNS_MAX 120 /* a longer source line is cut around the caret */
#define SHOWN_BEFORE 40

static void problem_release(struct dt_problem *problem)
{
    dt_free(problem->path);
    dt_free(problem->text);
    dt_free(problem->help);
    dt_free(problem->suggestion);
    *problem = (struct dt_problem){0};
}

void dt_problems_release(struct dt_problems *problems)
{
    if (!problems)
        return;
    for (size_t i = 0; i < problems->count; i++)
        problem_release(&problems->item[i]);
    problem_release(&problems->spill);
    dt_free(problems->item);
    *problems = (struct dt_problems){0};
}

/* Unknown places come last. */
static bool is_before(struct dt_place_in_file left, struct dt_place_in_file right)
{
    if (!left.line || !right.line)
        return left.line && !right.line;
    return left.line < right.line || (left.line == right.line && left.col < right.col);
}

struct dt_problem *dt_problem_add(struct dt_problems *problems, const char *path,
                                  const char *code, struct dt_place_in_file at)
{
    struct dt_problem *item;
    size_t index = problems->count;

    problems->item = dt_realloc(problems->item, DT_SPEC_PROBLEMS_MAX, sizeof(*item));
    problems->errors++;
    while (index && is_before(at, problems->item[index - 1].at))
        index--;
    if (problems->count == DT_SPEC_PROBLEMS_MAX) {
        problems->dropped++;
        problem_release(&problems->spill);
        if (index < problems->count)
            problems->spill = problems->item[--problems->count];
    }
    item = index == DT_SPEC_PROBLEMS_MAX ? &problems->spill : problems->item + index;
    if (index < DT_SPEC_PROBLEMS_MAX) {
        memmove(item + 1, item, (problems->count - index) * sizeof(*item));
        problems->count++;
    }
    *item = (struct dt_problem){.path = dt_copy_text(path), .at = at};
    snprintf(item->code, sizeof(item->code), "%s", code);
    return item;
}

static char *print_text(const char *format, va_list args) DT_PRINTF(1, 0);
static char *print_text(const char *format, va_list args)
{
    char text[1024];

    vsnprintf(text, sizeof(text), format, args);
    return dt_copy_text(text);
}

void dt_problem_text(struct dt_problem *problem, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    dt_free(problem->text);
    problem->text = print_text(format, args);
    va_end(args);
}

void dt_problem_help(struct dt_problem *problem, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    dt_free(problem->help);
    problem->help = print_text(format, args);
    va_end(args);
}

void dt_problem_replace(struct dt_problem *problem, const char *text)
{
    dt_free(problem->suggestion);
    problem->suggestion = dt_copy_text(text);
}

void dt_problem_near(struct dt_problem *problem, const char *word, const char *words)
{
    char copy[512];
    const char *list[64], *nearest;
    struct dt_buf help = {0};
    size_t count = 0;

    snprintf(copy, sizeof(copy), "%s", words);
    for (char *at = copy; *at && count < DT_COUNT(list);) {
        size_t length = strcspn(at, " ");

        list[count++] = at;
        at += length;
        if (*at)
            *at++ = 0;
    }
    nearest = dt_text_nearest(word, list, count);
    for (size_t i = 0; !nearest && i < count; i++) /* SIGUSR1 for USR1, torchrun for torch */
        if (strlen(list[i]) >= 3 && strstr(word, list[i]))
            nearest = list[i];
    if (nearest) {
        dt_problem_replace(problem, nearest);
        dt_problem_help(problem, "did you mean \"%s\"?", nearest);
        return;
    }
    dt_spec_words_print(&help, words);
    dt_problem_help(problem, "write %s", dt_buf_str(&help));
    dt_buf_release(&help);
}

struct dt_problem *dt_spec_problem(struct dt_problems *problems, const struct dt_tree *resolved,
                                   const char *path, const char *code)
{
    struct dt_place_in_file at = resolved->at;
    const struct dt_tree *node = resolved;
    char key[64];

    for (const char *rest = path; node && *rest;) {
        size_t length = strcspn(rest, ".");

        assert(length < sizeof(key));
        memcpy(key, rest, length);
        key[length] = 0;
        node = dt_tree_get(node, key);
        rest += length;
        rest += *rest == '.';
        if (node && node->at.line && !*rest && node->kind != DT_TREE_MAP)
            at = node->at;
        else if (node && node->key_at.line)
            at = node->key_at;
    }
    return dt_problem_add(problems, path, code, at);
}

/* Columns a character takes on a terminal: 0, 1 or 2 (Unicode East Asian width, the usual part). */
static int point_width(uint32_t point)
{
    static const struct { uint32_t first, last; int width; } ranges[] = {
        {0x0300, 0x036f, 0}, {0x0483, 0x0489, 0}, {0x0591, 0x05bd, 0}, {0x0610, 0x061a, 0},
        {0x064b, 0x065f, 0}, {0x0e31, 0x0e31, 0}, {0x0e34, 0x0e3a, 0}, {0x1100, 0x115f, 2},
        {0x1ab0, 0x1aff, 0}, {0x1dc0, 0x1dff, 0}, {0x200b, 0x200d, 0}, {0x20d0, 0x20ff, 0},
        {0x231a, 0x231b, 2}, {0x23e9, 0x23ec, 2}, {0x2e80, 0x303e, 2}, {0x3041, 0x33ff, 2},
        {0x3400, 0x4dbf, 2}, {0x4e00, 0x9fff, 2}, {0xa000, 0xa4cf, 2}, {0xac00, 0xd7a3, 2},
        {0xf900, 0xfaff, 2}, {0xfe00, 0xfe0f, 0}, {0xfe20, 0xfe2f, 0}, {0xfe30, 0xfe6f, 2},
        {0xff00, 0xff60, 2}, {0xffe0, 0xffe6, 2}, {0x1f300, 0x1f64f, 2},
        {0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2},
        {0xe0100, 0xe01ef, 0},
    };

    for (size_t i = 0; i < DT_COUNT(ranges); i++)
        if (point >= ranges[i].first && point <= ranges[i].last)
            return ranges[i].width;
    return 1;
}

/* Characters that move or recolour a terminal, or turn the direction of text. */
static bool is_unsafe(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) ||
           (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) ||
           point == 0x200e || point == 0x200f || point == 0xfeff;
}

/* One character, made safe for a terminal; returns its width. */
static int safe_char(struct dt_buf *buf, const char *text, size_t size, size_t *length)
{
    uint32_t point;
    bool is_valid;

    *length = dt_utf8_next(text, size, &point, &is_valid);
    if (is_valid && point == '\t') {
        dt_buf_byte(buf, '\t');
        return 1;
    }
    if (!is_valid || is_unsafe(point)) {
        dt_buf_text(buf, "\xef\xbf\xbd");
        return 1;
    }
    dt_buf_add(buf, text, *length);
    return point_width(point);
}

static void safe_text(struct dt_buf *buf, const char *text)
{
    size_t size = strlen(text), length;

    for (size_t i = 0; i < size; i += length)
        safe_char(buf, text + i, size - i, &length);
}

/* Size of a line end at text as YAML counts lines, 0 when there is none. */
static size_t line_end(const char *text, size_t size)
{
    const unsigned char *at = (const unsigned char *)text;

    if (size >= 2 && at[0] == '\r' && at[1] == '\n')
        return 2;
    if (size >= 1 && (at[0] == '\n' || at[0] == '\r'))
        return 1;
    if (size >= 2 && at[0] == 0xc2 && at[1] == 0x85)
        return 2;
    if (size >= 3 && at[0] == 0xe2 && at[1] == 0x80 && (at[2] == 0xa8 || at[2] == 0xa9))
        return 3;
    return 0;
}

/* The line of that number, or NULL. */
static const char *line_find(const char *source, size_t size, int line, size_t *line_size)
{
    size_t at = 0, end, begin;

    if (size >= 3 && memcmp(source, "\xef\xbb\xbf", 3) == 0)
        at = 3;
    for (begin = at; at <= size; at += end ? end : 1) {
        end = at < size ? line_end(source + at, size - at) : 0;
        if (!end && at < size)
            continue;
        if (--line == 0) {
            *line_size = at - begin;
            return source + begin;
        }
        begin = at + end;
    }
    return NULL;
}

/* The source line and the caret line below it. */
static void line_report(struct dt_buf *buf, struct dt_place_in_file at, const char *line,
                        size_t size)
{
    struct dt_buf shown = {0}, carets = {0};
    int from = at.col > SHOWN_COLUMNS_MAX - SHOWN_BEFORE ? at.col - SHOWN_BEFORE : 1;
    int end_col = at.end_col > at.col ? at.end_col : at.col + 1;
    int col = 1;
    size_t length;

    if (from > 1) {
        dt_buf_text(&shown, "...");
        dt_buf_text(&carets, "   ");
    }
    for (size_t i = 0; i < size; i += length, col++) {
        size_t before = shown.size;
        int width;

        if (col >= from + SHOWN_COLUMNS_MAX)
            break;
        if (col < from) {
            uint32_t point;
            bool is_valid;

            length = dt_utf8_next(line + i, size - i, &point, &is_valid);
            continue;
        }
        width = safe_char(&shown, line + i, size - i, &length);
        if (col < at.col && shown.size > before && shown.data[before] == '\t')
            dt_buf_byte(&carets, '\t');
        else
            for (int k = 0; k < width && col < end_col; k++)
                dt_buf_byte(&carets, col < at.col ? ' ' : col == at.col && !k ? '^' : '~');
    }
    if (col <= at.col) { /* at the line's end */
        for (; col < at.col; col++)
            dt_buf_byte(&carets, ' ');
        dt_buf_byte(&carets, '^');
    }
    dt_buf_print(buf, "%5d | %s\n      | %s\n", at.line, dt_buf_str(&shown),
                 dt_buf_str(&carets));
    dt_buf_release(&shown);
    dt_buf_release(&carets);
}

void dt_problems_report(struct dt_buf *buf, const struct dt_problems *problems, const char *file,
                        const char *source, size_t source_size)
{
    for (size_t i = 0; i < problems->count; i++) {
        const struct dt_problem *problem = &problems->item[i];
        const char *line = NULL;
        size_t size = 0;

        safe_text(buf, file);
        if (problem->at.line)
            dt_buf_print(buf, ":%d:%d", problem->at.line, problem->at.col);
        dt_buf_print(buf, ": %s[%s]: ", problem->is_warning ? "warning" : "error",
                     problem->code);
        safe_text(buf, problem->text ? problem->text : "");
        dt_buf_byte(buf, '\n');
        if (source && problem->at.line)
            line = line_find(source, source_size, problem->at.line, &size);
        if (line)
            line_report(buf, problem->at, line, size);
        if (problem->help) {
            dt_buf_text(buf, "  help: ");
            safe_text(buf, problem->help);
            dt_buf_byte(buf, '\n');
        }
    }
    if (problems->dropped)
        dt_buf_print(buf, "%zu more not shown\n", problems->dropped);
}

struct dt_tree *dt_problems_tree(const struct dt_problems *problems, const char *file)
{
    struct dt_tree *list = dt_tree_make(DT_TREE_LIST);

    for (size_t i = 0; i < problems->count; i++) {
        const struct dt_problem *problem = &problems->item[i];
        struct dt_tree *item = dt_tree_put_new(list, NULL, DT_TREE_MAP);
        struct dt_tree *suggestions;

        dt_tree_put_str(item, "file", file);
        dt_tree_put_int(item, "line", problem->at.line);
        dt_tree_put_int(item, "column", problem->at.col);
        dt_tree_put_int(item, "end_column", problem->at.end_col);
        dt_tree_put_str(item, "path", problem->path ? problem->path : "");
        dt_tree_put_str(item, "code", problem->code);
        dt_tree_put_str(item, "severity", problem->is_warning ? "warning" : "error");
        dt_tree_put_str(item, "message", problem->text ? problem->text : "");
        dt_tree_put_str(item, "help", problem->help ? problem->help : "");
        suggestions = dt_tree_put_new(item, "suggestions", DT_TREE_LIST);
        if (problem->suggestion)
            dt_tree_put_str(suggestions, NULL, problem->suggestion);
    }
    return list;
}
