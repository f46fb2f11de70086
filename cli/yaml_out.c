/* A tree as YAML text: block style, quoted where a plain scalar would read as something else. */
#include "yaml_out.h"

#include <string.h>

#include "dt/base/json.h"

#define DEPTH_MAX 64

/* Letters, digits and a few marks, beginning with a letter or a slash, and no word of YAML. */
static bool is_plain(const char *text)
{
    static const char *const words[] = {"true", "false", "null", "yes", "no", "on", "off",
                                        "y", "n"};
    static const char marks[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-./+";
    char low[8] = {0};
    size_t size = strlen(text);

    if (!size || strspn(text, marks) != size || strchr("0123456789-.+", text[0]))
        return false;
    for (size_t i = 0; i < size && i < sizeof(low) - 1; i++)
        low[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]);
    for (size_t i = 0; size < sizeof(low) && i < DT_COUNT(words); i++)
        if (strcmp(low, words[i]) == 0)
            return false;
    return true;
}

/* Several lines, all of them printable: may be a literal block. */
static bool is_block(const char *text)
{
    size_t size = strlen(text);

    if (size < 2 || text[size - 1] != '\n' || text[size - 2] == '\n' || strchr(" \t\n", text[0]))
        return false;
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 && *text != '\n' && *text != '\t')
            return false;
    return true;
}

static void pad(struct dt_buf *buf, int depth)
{
    dt_buf_print(buf, "%*s", depth * 2, "");
}

static void block_write(struct dt_buf *buf, const char *text, int depth)
{
    dt_buf_text(buf, "|\n");
    while (*text) {
        size_t line = strcspn(text, "\n");

        if (line)
            pad(buf, depth);
        dt_buf_add(buf, text, line + 1);
        text += line + 1;
    }
}

static void scalar_write(struct dt_buf *buf, const struct dt_tree *tree, int depth)
{
    const char *text = tree->text ? tree->text : "";

    switch (tree->kind) {
    case DT_TREE_NULL:
        dt_buf_text(buf, "null\n");
        return;
    case DT_TREE_BOOL:
        dt_buf_text(buf, tree->bool_value ? "true\n" : "false\n");
        return;
    case DT_TREE_INT:
        dt_buf_print(buf, "%lld\n", (long long)tree->int_value);
        return;
    case DT_TREE_FLOAT:
        dt_buf_print(buf, "%s\n", text);
        return;
    case DT_TREE_STR:
        if (is_block(text)) {
            block_write(buf, text, depth);
            return;
        }
        if (is_plain(text))
            dt_buf_text(buf, text);
        else
            dt_json_quote(buf, text, tree->text_size);
        dt_buf_byte(buf, '\n');
        return;
    case DT_TREE_LIST:
    case DT_TREE_MAP:
        dt_buf_text(buf, tree->kind == DT_TREE_LIST ? "[]\n" : "{}\n");
        return;
    }
}

static void node_write(struct dt_buf *buf, const struct dt_tree *tree, int depth, bool is_inline);

/* What stands behind "key:" or "-". */
static void value_write(struct dt_buf *buf, const struct dt_tree *tree, int depth)
{
    if (!tree->count || depth >= DEPTH_MAX) {
        dt_buf_byte(buf, ' ');
        scalar_write(buf, tree, depth);
        return;
    }
    dt_buf_byte(buf, '\n');
    node_write(buf, tree, depth, false);
}

/* is_inline: the first line goes on behind what is there ("- "). */
static void node_write(struct dt_buf *buf, const struct dt_tree *tree, int depth, bool is_inline)
{
    for (const struct dt_tree *child = tree->first; child; child = child->next) {
        if (!is_inline)
            pad(buf, depth);
        is_inline = false;
        if (tree->kind == DT_TREE_LIST) {
            dt_buf_byte(buf, '-');
            if (child->count && child->kind == DT_TREE_MAP && depth < DEPTH_MAX) {
                dt_buf_byte(buf, ' ');
                node_write(buf, child, depth + 1, true);
                continue;
            }
        } else {
            if (is_plain(child->key))
                dt_buf_text(buf, child->key);
            else
                dt_json_quote(buf, child->key, strlen(child->key));
            dt_buf_byte(buf, ':');
        }
        value_write(buf, child, depth + 1);
    }
}

void dt_yaml_write(struct dt_buf *buf, const struct dt_tree *tree)
{
    if (tree->count)
        node_write(buf, tree, 0, false);
    else
        scalar_write(buf, tree, 0);
}
