/* The bytes of a YAML file by line and column, and why libyaml stumbles over them. */
#include "yaml_source.h"

#include <stdio.h>
#include <string.h>

#include "dt/base/text.h"

void dt_yaml_source_release(struct dt_yaml_source *source)
{
    dt_free(source->line_at);
    *source = (struct dt_yaml_source){0};
}

/* Size of a line end at text, 0 when there is none. */
static size_t line_end(const char *text, size_t size)
{
    if (size >= 2 && memcmp(text, "\r\n", 2) == 0)
        return 2;
    if (size >= 1 && (*text == '\n' || *text == '\r'))
        return 1;
    if (size >= 2 && memcmp(text, "\xc2\x85", 2) == 0)
        return 2;
    if (size >= 3 && memcmp(text, "\xe2\x80", 2) == 0 &&
        (text[2] == '\xa8' || text[2] == '\xa9'))
        return 3;
    return 0;
}

static void index_lines(struct dt_yaml_source *source)
{
    size_t room = 64, length;
    size_t at = source->size >= 3 && memcmp(source->bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

    source->line_at = dt_alloc(room, sizeof(*source->line_at));
    source->line_at[source->lines++] = at;
    for (; at < source->size; at += length ? length : 1) {
        length = line_end(source->bytes + at, source->size - at);
        if (!length)
            continue;
        if (source->lines == room) {
            room *= 2;
            source->line_at = dt_realloc(source->line_at, room, sizeof(*source->line_at));
        }
        source->line_at[source->lines++] = at + length;
    }
}

/* A line without its end; "" past the file. */
static const char *line_text(const struct dt_yaml_source *source, int line, size_t *size)
{
    size_t at, end;

    *size = 0;
    if (line < 1 || (size_t)line > source->lines)
        return "";
    at = source->line_at[line - 1];
    for (end = at; end < source->size && !line_end(source->bytes + end, source->size - end);)
        end++;
    *size = end - at;
    return source->bytes + at;
}

/* Bytes of a line before a column. */
static size_t column_offset(const char *text, size_t size, int col)
{
    size_t at = 0;

    for (int i = 1; i < col && at < size; i++) {
        uint32_t point;
        bool is_valid;

        at += dt_utf8_next(text + at, size - at, &point, &is_valid);
    }
    return at;
}

static int characters(const char *text, size_t size)
{
    int count = 0;

    for (size_t at = 0; at < size; count++) {
        uint32_t point;
        bool is_valid;

        at += dt_utf8_next(text + at, size - at, &point, &is_valid);
    }
    return count;
}

void dt_yaml_source_place(const struct dt_yaml_source *source, size_t offset, int *line,
                          int *col)
{
    size_t low = 0, high = source->lines;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (source->line_at[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    *line = (int)low + 1;
    *col = offset <= source->line_at[low]
               ? 1
               : characters(source->bytes + source->line_at[low],
                            offset - source->line_at[low]) + 1;
}

int dt_yaml_source_end_col(const struct dt_yaml_source *source, int line, int col)
{
    size_t size;
    const char *text = line_text(source, line, &size);
    int end;

    while (size && (text[size - 1] == ' ' || text[size - 1] == '\t'))
        size--;
    end = characters(text, size) + 1;
    return end > col ? end : col + 1;
}

int dt_yaml_source_tab(const struct dt_yaml_source *source, int line, int col)
{
    size_t size;
    const char *text = line_text(source, line, &size);
    int tab = 0;

    for (int i = 1; i < col && (size_t)i <= size; i++) {
        if (text[i - 1] != ' ' && text[i - 1] != '\t')
            return 0;
        if (text[i - 1] == '\t' && !tab)
            tab = i;
    }
    return tab;
}

static struct dt_problem *refuse(struct dt_problems *problems, const char *code, int line, int col)
{
    return dt_problem_add(problems, "", code, (struct dt_place_in_file){line, col, col + 1});
}

/* Tab, line ends and what Unicode prints. */
static bool is_allowed(uint32_t point)
{
    if (point < 0x20)
        return point == '\t' || point == '\n' || point == '\r';
    return point != 0x7f && !(point > 0x7f && point < 0xa0 && point != 0x85) && point != 0xfffe &&
           point != 0xffff;
}

bool dt_yaml_source_open(struct dt_yaml_source *source, const char *bytes, size_t size,
                         struct dt_problems *problems)
{
    struct dt_problem *problem;
    size_t length;
    int line, col;

    *source = (struct dt_yaml_source){.bytes = bytes, .size = size};
    if (size > DT_SPEC_BYTES_MAX) {
        problem = dt_problem_add(problems, "", "yaml.size", (struct dt_place_in_file){0});
        dt_problem_text(problem, "%zu bytes; at most %d are taken", size, DT_SPEC_BYTES_MAX);
        return false;
    }
    index_lines(source);
    for (size_t at = 0; at < size; at += length) {
        uint32_t point;
        bool is_valid;

        length = dt_utf8_next(bytes + at, size - at, &point, &is_valid);
        if (is_valid && is_allowed(point))
            continue;
        dt_yaml_source_place(source, at, &line, &col);
        problem = refuse(problems, is_valid ? "yaml.control-character" : "yaml.utf8", line, col);
        if (is_valid) {
            dt_problem_text(problem, "control character U+%04X", (unsigned)point);
            dt_problem_help(problem, "remove it");
        } else {
            dt_problem_text(problem, "not UTF-8: byte 0x%02x", (unsigned char)bytes[at]);
            dt_problem_help(problem, at == 0 && size > 1 && ((unsigned char)bytes[0] >= 0xfe)
                                         ? "this looks like UTF-16: save the file as UTF-8"
                                         : "save the file as UTF-8");
        }
        return false;
    }
    return true;
}

/* The first byte of a line that is no blank; its column. */
static char first_char(const struct dt_yaml_source *source, int line, int *col)
{
    size_t size, blanks = 0;
    const char *text = line_text(source, line, &size);

    while (blanks < size && (text[blanks] == ' ' || text[blanks] == '\t'))
        blanks++;
    *col = (int)blanks + 1;
    return blanks < size ? text[blanks] : 0;
}

/* The nearest line before `line` that has content; 0 when none. */
static int line_before(const struct dt_yaml_source *source, int line)
{
    int col;

    for (line--; line > 0; line--) {
        char c = first_char(source, line, &col);

        if (c && c != '#')
            return line;
    }
    return 0;
}

static char char_at(const struct dt_yaml_source *source, int line, int col)
{
    size_t size;
    const char *text = line_text(source, line, &size);
    size_t at = column_offset(text, size, col);

    return at < size ? text[at] : 0;
}

/* Column of a colon inside "key:value" (no blank behind it, none in front), or 0. */
static int tight_colon(const struct dt_yaml_source *source, int line)
{
    size_t size, at;
    const char *text = line_text(source, line, &size);
    int col;

    first_char(source, line, &col);
    for (at = (size_t)col - 1; at < size; at++) {
        char c = text[at];

        if (c == ':' && at + 1 < size && text[at + 1] != ' ' && text[at + 1] != '\t')
            return text[at + 1] == '/' ? 0 : (int)at + 1;
        if (c == ' ' || c == '"' || c == '\'' || c == ':' || c == '[' || c == '{')
            return 0;
    }
    return 0;
}

/* The line has a key: "word:" at its begin. */
static bool has_key(const struct dt_yaml_source *source, int line)
{
    size_t size;
    const char *text = line_text(source, line, &size);

    for (size_t at = 0; at < size; at++)
        if (text[at] == ':' && (at + 1 == size || text[at + 1] == ' '))
            return true;
    return false;
}

static bool explain_colon(const struct dt_yaml_source *source, int line,
                          struct dt_problems *problems)
{
    struct dt_problem *problem;
    int col = tight_colon(source, line), begin;
    char c = first_char(source, line, &begin);
    size_t size;
    const char *text = line_text(source, line, &size);

    if (!c || c == '-' || c == '"' || c == '\'' || c == '[' || c == '{')
        return false;
    if (col) {
        problem = refuse(problems, "yaml.colon", line, col);
        dt_problem_text(problem, "a space is missing after the colon");
        dt_problem_help(problem, "write \"%.*s: %.*s\"", col - begin, text + begin - 1,
                        (int)(size - (size_t)col) < 40 ? (int)(size - (size_t)col) : 40,
                        text + col);
        return true;
    }
    if (has_key(source, line))
        return false;
    problem = dt_problem_add(problems, "", "yaml.colon",
                             (struct dt_place_in_file){
                                 line, begin, dt_yaml_source_end_col(source, line, begin)});
    dt_problem_text(problem, "a colon is missing behind the key");
    dt_problem_help(problem, "write \"key: value\", or \"key:\" above an indented block");
    return true;
}

static bool explain_character(const struct dt_yaml_source *source,
                              const struct dt_yaml_stumble *stumble,
                              struct dt_problems *problems)
{
    bool is_alias = strstr(stumble->context, "scanning an alias") ||
                    strstr(stumble->context, "scanning an anchor") ||
                    strstr(stumble->context, "scanning a directive");
    int line = is_alias ? stumble->context_line : stumble->line;
    int col = is_alias ? stumble->context_col : stumble->col;
    char c = char_at(source, line, col);
    struct dt_problem *problem;
    int tab;

    if (!is_alias && !strstr(stumble->problem, "cannot start any token"))
        return false;
    if (c == '\t') {
        tab = dt_yaml_source_tab(source, line, col + 1);
        problem = refuse(problems, "yaml.tab", line, tab ? tab : col);
        dt_problem_text(problem, tab ? "a tab in the indentation" : "a tab in front of a value");
        dt_problem_help(problem, "indent with spaces");
        return true;
    }
    problem = refuse(problems, "yaml.unquoted", line, col);
    dt_problem_text(problem, "a value cannot begin with %c", c);
    dt_problem_help(problem, "put it in quotes: \"%c...\"", c);
    return true;
}

/* Inside [ or {, all in one line: the wrong bracket, or no comma. */
static bool explain_flow(const struct dt_yaml_source *source,
                         const struct dt_yaml_stumble *stumble, struct dt_problems *problems)
{
    char c = char_at(source, stumble->line, stumble->col);
    struct dt_problem *problem;

    if (stumble->flow.line != stumble->line ||
        !strstr(stumble->problem, "did not find expected ','"))
        return false;
    if (c == ']' || c == '}') {
        char open = char_at(source, stumble->flow.line, stumble->flow.col);

        problem = refuse(problems, "yaml.unclosed", stumble->line, stumble->flow.col);
        dt_problem_text(problem, "%c is closed by %c", open, c);
        dt_problem_help(problem, "write %c where it ends", open == '[' ? ']' : '}');
        return true;
    }
    problem = refuse(problems, "yaml.comma", stumble->line, stumble->col);
    dt_problem_text(problem, "a comma is missing before this");
    return true;
}

static bool explain_unclosed(const struct dt_yaml_source *source,
                             const struct dt_yaml_stumble *stumble, struct dt_problems *problems)
{
    struct dt_place_in_file open = {0};
    struct dt_problem *problem;
    char c;

    if (strstr(stumble->context, "scanning a quoted scalar"))
        open = (struct dt_place_in_file){stumble->context_line, stumble->context_col, 0};
    else if (stumble->last_quoted.line)
        open = stumble->last_quoted;
    else if (stumble->flow.line && stumble->line > stumble->flow.line)
        open = stumble->flow;
    if (!open.line)
        return false;
    c = char_at(source, open.line, open.col);
    open.end_col = open.col + 1;
    problem = dt_problem_add(problems, "", "yaml.unclosed", open);
    dt_problem_text(problem, "%c is never closed", c);
    if (c == '[' || c == '{')
        dt_problem_help(problem, "write %c where it ends", c == '[' ? ']' : '}');
    else
        dt_problem_help(problem, "write the closing %c", c);
    return true;
}

/* The line stands deeper or less deep than its neighbours allow. */
static bool explain_indent(const struct dt_yaml_source *source,
                           const struct dt_yaml_stumble *stumble, struct dt_problems *problems)
{
    int before = line_before(source, stumble->line), col, above;
    struct dt_problem *problem;
    char c = first_char(source, stumble->line, &col);

    if (!c || !before || (!strstr(stumble->problem, "mapping values are not allowed") &&
                          (!strstr(stumble->problem, "did not find expected") ||
                           stumble->col != col)))
        return false;
    first_char(source, before, &above);
    if (above == col && strstr(stumble->problem, "mapping values"))
        return false;
    problem = dt_problem_add(problems, "", "yaml.indent",
                             (struct dt_place_in_file){
                                 stumble->line, col,
                                 dt_yaml_source_end_col(source, stumble->line, col)});
    dt_problem_text(problem, "the indentation does not fit the lines above");
    if (stumble->context_line && stumble->context_line < stumble->line &&
        strstr(stumble->context, "block"))
        dt_problem_help(problem, "the block began in line %d at column %d; this line begins at "
                                 "column %d", stumble->context_line, stumble->context_col, col);
    else
        dt_problem_help(problem, "line %d begins at column %d and has its value already", before,
                        above);
    return true;
}

static bool explain_second_colon(const struct dt_yaml_source *source,
                                 const struct dt_yaml_stumble *stumble,
                                 struct dt_problems *problems)
{
    struct dt_problem *problem;
    size_t size, at;
    const char *text = line_text(source, stumble->line, &size);

    if (!strstr(stumble->problem, "mapping values are not allowed"))
        return false;
    for (at = 0; at + 1 < column_offset(text, size, stumble->col); at++)
        if (text[at] == ':' && text[at + 1] == ' ')
            break;
    if (at + 1 >= column_offset(text, size, stumble->col))
        return false;
    problem = refuse(problems, "yaml.colon", stumble->line, stumble->col);
    dt_problem_text(problem, "a second colon in one line");
    dt_problem_help(problem, "put the value in quotes if the colon belongs to it");
    return true;
}

static bool explain_missing(const struct dt_yaml_source *source,
                            const struct dt_yaml_stumble *stumble, struct dt_problems *problems)
{
    int before = line_before(source, stumble->line);

    if (strstr(stumble->problem, "could not find expected ':'"))
        return explain_colon(source, stumble->context_line, problems);
    if (strstr(stumble->problem, "mapping values are not allowed"))
        return before && explain_colon(source, before, problems);
    return false;
}

void dt_yaml_source_explain(const struct dt_yaml_source *source,
                            const struct dt_yaml_stumble *stumble, struct dt_problems *problems)
{
    struct dt_problem *problem;
    int tab = dt_yaml_source_tab(source, stumble->line,
                                 dt_yaml_source_end_col(source, stumble->line, 0));

    if (explain_character(source, stumble, problems) ||
        explain_unclosed(source, stumble, problems) || explain_flow(source, stumble, problems))
        return;
    if (tab || strstr(stumble->problem, "tab character")) {
        problem = refuse(problems, "yaml.tab", stumble->line, tab ? tab : stumble->col);
        dt_problem_text(problem, "a tab in the indentation");
        dt_problem_help(problem, "indent with spaces");
        return;
    }
    if (explain_second_colon(source, stumble, problems) ||
        explain_missing(source, stumble, problems) || explain_indent(source, stumble, problems))
        return;
    problem = refuse(problems, "yaml.syntax", stumble->line, stumble->col);
    dt_problem_text(problem, "%s%s%s", stumble->problem, *stumble->context ? " " : "",
                    stumble->context);
    if (*stumble->context && stumble->context_line && stumble->context_line < stumble->line)
        dt_problem_help(problem, "it began in line %d, column %d", stumble->context_line,
                        stumble->context_col);
}
