/* Tables by libsmartcols (loaded only when a table is printed), and trees as cells and text. */
#include "render.h"

#include <dlfcn.h>
#include <langinfo.h>
#include <libsmartcols/libsmartcols.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "dt/base/json.h"
#include "dt/base/text.h"
#include "dt/base/units.h"
#include "dt/os/proc.h"
#include "safe.h"
#include "say.h"
#include "yaml_out.h"

#define COLUMNS_MAX 32

/* The functions of libsmartcols in use. */
static struct {
    __typeof__(&scols_new_table) new_table;
    __typeof__(&scols_unref_table) unref_table;
    __typeof__(&scols_table_new_column) new_column;
    __typeof__(&scols_table_new_line) new_line;
    __typeof__(&scols_line_set_data) set_data;
    __typeof__(&scols_line_get_cell) get_cell;
    __typeof__(&scols_cell_set_color) set_color;
    __typeof__(&scols_table_enable_colors) enable_colors;
    __typeof__(&scols_table_enable_noencoding) enable_noencoding;
    __typeof__(&scols_table_set_termforce) set_termforce;
    __typeof__(&scols_print_table_to_string) print;
} scols;

static enum dt_code scols_load(struct dt_err *err)
{
    static const struct {
        const char *name;
        void *place;
    } rows[] = {
        {"scols_new_table", &scols.new_table},
        {"scols_unref_table", &scols.unref_table},
        {"scols_table_new_column", &scols.new_column},
        {"scols_table_new_line", &scols.new_line},
        {"scols_line_set_data", &scols.set_data},
        {"scols_line_get_cell", &scols.get_cell},
        {"scols_cell_set_color", &scols.set_color},
        {"scols_table_enable_colors", &scols.enable_colors},
        {"scols_table_enable_noencoding", &scols.enable_noencoding},
        {"scols_table_set_termforce", &scols.set_termforce},
        {"scols_print_table_to_string", &scols.print},
    };
    void *library = dlopen("libsmartcols.so.1", RTLD_NOW | RTLD_LOCAL);

    for (size_t i = 0; i < DT_COUNT(rows); i++) {
        void *symbol = library ? dlsym(library, rows[i].name) : NULL;

        if (!symbol) {
            dt_fail(err, DT_IO, "tables need libsmartcols.so.1: %s", dlerror());
            dt_hint(err, "install libsmartcols1, or use -o json");
            return DT_IO;
        }
        memcpy(rows[i].place, &symbol, sizeof(symbol));
    }
    /* Widths of letters; LC_NUMERIC stays "C". Texts are UTF-8 whatever the terminal's locale. */
    setlocale(LC_CTYPE, "");
    if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8");
    return DT_OK;
}

struct dt_cell *dt_table_cell(struct dt_table *table, const char *text)
{
    struct dt_cell *cell;

    if (table->cells_count == table->cells_room) {
        table->cells_room = table->cells_room ? table->cells_room * 2 : 64;
        table->cells = dt_realloc(table->cells, table->cells_room, sizeof(*table->cells));
    }
    cell = &table->cells[table->cells_count++];
    *cell = (struct dt_cell){.order = table->cells_count};
    table->safe.size = 0;
    dt_add_safe(&table->safe, text && *text ? text : "-");
    cell->text = dt_copy_bytes(dt_buf_str(&table->safe), table->safe.size);
    return cell;
}

struct dt_cell *dt_table_keyed(struct dt_table *table, const char *text, int64_t key)
{
    struct dt_cell *cell = dt_table_cell(table, text);

    cell->key = key;
    cell->has_key = true;
    return cell;
}

/* What qsort needs to know; set for the length of one sort. */
static struct {
    size_t column;
    int sign;
} order;

/* Numbers by value, texts by bytes; equal ones stay in the order they came in. */
static int by_column(const void *left, const void *right)
{
    const struct dt_cell *a = (const struct dt_cell *)left + order.column;
    const struct dt_cell *b = (const struct dt_cell *)right + order.column;
    int64_t x = a->key, y = b->key;
    int text = 0;

    if (!(a->has_key && b->has_key) &&
        !(dt_parse_int(a->text, INT64_MIN, INT64_MAX, &x) &&
          dt_parse_int(b->text, INT64_MIN, INT64_MAX, &y))) {
        x = y = 0;
        text = strcmp(a->text, b->text);
    }
    if (x == y && !text)
        return a->order > b->order ? 1 : -1;
    return order.sign * (text ? text : x > y ? 1 : -1);
}

static enum dt_code table_sort(struct dt_table *table, const char *by, struct dt_err *err)
{
    const char *names[COLUMNS_MAX];
    bool is_back = by[0] == '-';

    by += is_back;
    for (size_t i = 0; i < table->columns_count; i++) {
        names[i] = table->columns[i].name;
        if (strcasecmp(names[i], by) != 0)
            continue;
        order.column = i;
        order.sign = is_back ? -1 : 1;
        if (table->cells_count)
            qsort(table->cells, table->cells_count / table->columns_count,
                  table->columns_count * sizeof(*table->cells), by_column);
        return DT_OK;
    }
    dt_fail(err, DT_USAGE, "--sort: no column \"%s\"", by);
    {
        struct dt_buf list = {0};

        for (size_t i = 0; i < table->columns_count; i++)
            dt_buf_print(&list, "%s%s", i ? " " : "", names[i]);
        dt_hint(err, "columns: %s", dt_buf_str(&list));
        dt_buf_release(&list);
    }
    return DT_USAGE;
}

static void rows_fill(struct libscols_table *out, const struct dt_table *table, bool is_wide)
{
    for (size_t i = 0; i < table->cells_count; i += table->columns_count) {
        struct libscols_line *line = scols.new_line(out, NULL);
        size_t n = 0;

        for (size_t j = 0; j < table->columns_count; j++) {
            const struct dt_cell *cell = &table->cells[i + j];

            if (table->columns[j].is_wide && !is_wide)
                continue;
            scols.set_data(line, n, cell->text);
            if (cell->colour)
                scols.set_color(scols.get_cell(line, n), cell->colour);
            n++;
        }
    }
}

static void table_draw(const struct dt_table *table, bool is_wide, bool has_headers)
{
    struct libscols_table *out = scols.new_table();
    bool is_terminal = dt_stdout_is_terminal();
    struct dt_buf buf = {0};
    char *text = NULL;

    scols.set_termforce(out, is_terminal ? SCOLS_TERMFORCE_AUTO : SCOLS_TERMFORCE_NEVER);
    scols.enable_colors(out, dt_has_colour());
    /* Cells are harmless already. Without a UTF-8 locale the library would never end on them. */
    scols.enable_noencoding(out, strcmp(nl_langinfo(CODESET), "UTF-8") == 0);
    for (size_t i = 0; i < table->columns_count; i++) {
        const struct dt_column *column = &table->columns[i];
        int flags = (column->is_right ? SCOLS_FL_RIGHT : 0) |
                    (column->is_cut && is_terminal ? SCOLS_FL_TRUNC : 0);

        if (is_wide || !column->is_wide)
            scols.new_column(out, column->name, 0, flags);
    }
    rows_fill(out, table, is_wide);
    if (scols.print(out, &text) == 0 && text && *text) {
        /* Not by the library: some of its versions make room for a heading that is not printed. */
        const char *rest = has_headers ? NULL : strchr(text, '\n');

        dt_buf_text(&buf, rest ? rest + 1 : text);
        if (buf.data[buf.size - 1] != '\n')
            dt_buf_byte(&buf, '\n');
        dt_put(&buf);
    }
    dt_buf_release(&buf);
    free(text);
    scols.unref_table(out);
}

enum dt_code dt_table_print(struct dt_table *table, const struct dt_args *args,
                            struct dt_err *err)
{
    const char *by = args ? dt_args_str(args, "sort") : NULL;
    enum dt_code code;

    if (by && (code = table_sort(table, by, err)))
        return code;
    if (args && dt_output_is(args, "name")) {
        struct dt_buf buf = {0};

        for (size_t i = 0; i < table->cells_count; i += table->columns_count)
            dt_buf_print(&buf, "%s\n", table->cells[i].text);
        dt_put(&buf);
        dt_buf_release(&buf);
        return DT_OK;
    }
    if (!table->cells_count)
        return DT_OK;
    if ((code = scols_load(err)))
        return code;
    table_draw(table, args && dt_output_is(args, "wide"),
               !args || !dt_args_has(args, "no-headers"));
    return DT_OK;
}

void dt_table_release(struct dt_table *table)
{
    for (size_t i = 0; i < table->cells_count; i++)
        dt_free(table->cells[i].text);
    dt_free(table->cells);
    dt_buf_release(&table->safe);
    table->cells = NULL;
    table->cells_count = table->cells_room = 0;
}

bool dt_output_is(const struct dt_args *args, const char *form)
{
    return dt_text_equal(dt_args_str(args, "output"), form);
}

void dt_output_tree(const struct dt_args *args, const struct dt_tree *tree)
{
    struct dt_buf buf = {0};

    if (dt_output_is(args, "yaml"))
        dt_yaml_write(&buf, tree);
    else if (dt_stdout_is_terminal())
        dt_json_write_pretty(&buf, tree);
    else
        dt_json_write(&buf, tree);
    if (buf.size && buf.data[buf.size - 1] != '\n')
        dt_buf_byte(&buf, '\n');
    dt_put_safe(dt_buf_str(&buf), buf.size);
    dt_buf_release(&buf);
}

const char *dt_cell_text(const struct dt_tree *tree)
{
    static char numbers[8][24];
    static unsigned turn;

    if (!tree)
        return "-";
    switch (tree->kind) {
    case DT_TREE_NULL:
        return "-";
    case DT_TREE_BOOL:
        return tree->bool_value ? "true" : "false";
    case DT_TREE_INT:
        turn = (turn + 1) % DT_COUNT(numbers);
        snprintf(numbers[turn], sizeof(numbers[turn]), "%lld", (long long)tree->int_value);
        return numbers[turn];
    case DT_TREE_FLOAT:
    case DT_TREE_STR:
        return tree->text && *tree->text ? tree->text : "-";
    case DT_TREE_LIST:
    case DT_TREE_MAP:
        return "...";
    }
    return "-";
}

const char *dt_age_text(const char *instant, char text[32], int64_t *at_ms)
{
    int64_t at = 0, age;

    snprintf(text, 32, "-");
    if (instant && dt_parse_instant_ms(instant, &at, NULL) == DT_OK) {
        age = dt_wall_ms() - at;
        dt_format_age(age > 0 ? age : 0, text, 32);
    }
    if (at_ms)
        *at_ms = at;
    return text;
}

const char *dt_state_colour(const char *state)
{
    static const struct {
        const char *state, *colour;
    } rows[] = {
        {"running", "\033[32m"},    {"succeeded", "\033[32m"},   {"up", "\033[32m"},
        {"failed", "\033[31m"},     {"expired", "\033[31m"},     {"down", "\033[31m"},
        {"recovering", "\033[35m"}, {"quarantined", "\033[31m"}, {"starting", "\033[36m"},
        {"pending", "\033[33m"},    {"held", "\033[33m"},        {"stopping", "\033[33m"},
        {"silent", "\033[33m"},     {"draining", "\033[33m"},    {"cordoned", "\033[33m"},
    };

    for (size_t i = 0; i < DT_COUNT(rows); i++)
        if (strcmp(rows[i].state, state) == 0)
            return rows[i].colour;
    return NULL;
}
