/* From a resolved tree to struct dt_spec, by the table; the built-in restart rules. */
#include "spec_table.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "dt/base/units.h"

/* Follow the user's own rules; the first match decides. */
static const struct {
    struct dt_restart_rule rule;
    bool is_for_trainer; /* dttrain's exit statuses */
    const char *why;
} builtin[] = {
    {{.on = "exit", .codes = {2, 3, 20, 21, 22}, .codes_count = 5, .action = "fail",
      .is_counted = true}, true,
     "the trainer says that another try ends the same way"},
    {{.on = "exit", .action = "restart", .is_counted = true}, false, NULL},
    {{.on = "signal", .action = "restart", .is_counted = true}, false, NULL},
    {{.on = "oom", .action = "restart", .is_counted = true}, false, NULL},
    {{.on = "xid", .action = "restart-elsewhere", .is_counted = true}, false, NULL},
    {{.on = "ecc", .action = "restart-elsewhere"}, false, "not the job's fault"},
    {{.on = "node_lost", .action = "restart-elsewhere"}, false, "not the job's fault"},
    {{.on = "hang", .action = "restart", .is_counted = true}, false, NULL},
    {{.on = "nan", .action = "rollback", .is_counted = true}, false, NULL},
    {{.on = "timeout", .action = "fail", .is_counted = true}, false, NULL},
    {{.on = "preempt", .action = "restart-elsewhere"}, false, "not the job's fault"},
};

void dt_spec_rules_print(struct dt_buf *buf)
{
    for (size_t i = 0; i < DT_COUNT(builtin); i++) {
        const struct dt_restart_rule *rule = &builtin[i].rule;

        dt_buf_print(buf, "  - {on: %s", rule->on);
        for (size_t k = 0; k < rule->codes_count; k++)
            dt_buf_print(buf, "%s%d", k ? ", " : ", codes: [", rule->codes[k]);
        dt_buf_print(buf, "%s, action: %s, count: %s}", rule->codes_count ? "]" : "",
                     rule->action, rule->is_counted ? "true" : "false");
        if (builtin[i].is_for_trainer || builtin[i].why)
            dt_buf_print(buf, "  # %s%s", builtin[i].is_for_trainer ? "with trainer: " : "",
                         builtin[i].why ? builtin[i].why : "");
        dt_buf_byte(buf, '\n');
    }
}

static void texts_add(struct dt_texts *texts, char *take)
{
    texts->item = dt_realloc(texts->item, texts->count + 1, sizeof(*texts->item));
    texts->item[texts->count++] = take;
}

/* Lists of texts; maps of texts as "K=V" without the nulls. */
static void fill_texts(struct dt_texts *texts, const struct dt_tree *node)
{
    for (const struct dt_tree *item = node->first; item; item = item->next) {
        struct dt_buf text = {0};

        if (item->kind != DT_TREE_STR)
            continue;
        if (item->key)
            dt_buf_print(&text, "%s=", item->key);
        dt_buf_add(&text, item->text, item->text_size);
        texts_add(texts, dt_buf_take(&text));
    }
}

/* The member a row points at has the C type that its types say; auto and off are 0. */
static void fill_member(void *member, const struct dt_spec_field *field,
                        const struct dt_tree *node)
{
    unsigned types = field->types;
    int64_t value = 0;
    enum dt_code code = DT_OK;

    if (types & (DT_SPEC_LIST | DT_SPEC_DICT)) {
        fill_texts(member, node);
    } else if (types & DT_SPEC_NAME) {
        snprintf(member, DT_NAME_BYTES_MAX, "%s", node->text);
    } else if (types & (DT_SPEC_PATH | DT_SPEC_BLOCK)) {
        *(char **)member = dt_copy_text(node->text);
    } else if (types & DT_SPEC_BOOL) {
        *(bool *)member = node->bool_value;
    } else if (types & DT_SPEC_INT) {
        *(int *)member = node->kind == DT_TREE_INT ? (int)node->int_value : 0;
    } else if (types & (DT_SPEC_DURATION | DT_SPEC_SIZE | DT_SPEC_INSTANT)) {
        if ((types & DT_SPEC_WORD) && dt_spec_word_index(field->words, node->text) >= 0)
            value = 0;
        else if (types & DT_SPEC_DURATION)
            code = dt_parse_duration_ms(node->text, &value, NULL);
        else if (types & DT_SPEC_SIZE)
            code = dt_parse_size_bytes(node->text, &value, NULL);
        else
            code = dt_parse_instant_ms(node->text, &value, NULL);
        assert(!code);
        *(int64_t *)member = value;
    } else {
        assert(types & DT_SPEC_WORD);
        *(int *)member = dt_spec_word_index(field->words, node->text);
    }
}

static void fill_object(struct dt_spec *spec, const struct dt_spec_object *object,
                        const struct dt_tree *map)
{
    for (size_t i = 0; i < object->count; i++) {
        const struct dt_spec_field *field = &object->fields[i];
        const struct dt_tree *node = dt_tree_get(map, field->name);

        if (!node || node->kind == DT_TREE_NULL)
            continue;
        if (field->into)
            fill_member((char *)spec + field->into - 1, field, node);
        else if (field->object && node->kind == DT_TREE_MAP)
            fill_object(spec, field->object, node);
    }
}

static void fill_rules(struct dt_spec *spec, const struct dt_tree *list)
{
    size_t count = list ? list->count : 0;

    spec->rules = dt_alloc(count + DT_COUNT(builtin), sizeof(*spec->rules));
    for (const struct dt_tree *item = list ? list->first : NULL; item; item = item->next) {
        struct dt_restart_rule *rule = &spec->rules[spec->rules_count++];
        const struct dt_tree *codes = dt_tree_get(item, "codes");

        snprintf(rule->on, sizeof(rule->on), "%s", dt_tree_str(item, "on", ""));
        snprintf(rule->action, sizeof(rule->action), "%s", dt_tree_str(item, "action", ""));
        rule->is_counted = dt_tree_bool(item, "count", true);
        for (const struct dt_tree *code = codes ? codes->first : NULL;
             code && rule->codes_count < DT_COUNT(rule->codes); code = code->next)
            rule->codes[rule->codes_count++] = (int)code->int_value;
    }
    for (size_t i = 0; i < DT_COUNT(builtin); i++)
        if (!builtin[i].is_for_trainer || spec->is_trainer)
            spec->rules[spec->rules_count++] = builtin[i].rule;
}

static void fill_after(struct dt_spec *spec, const struct dt_tree *list)
{
    for (const struct dt_tree *item = list ? list->first : NULL; item; item = item->next) {
        struct dt_buf text = {0};

        dt_buf_print(&text, "%s:%s", dt_tree_str(item, "job", ""),
                     dt_tree_str(item, "on", "ok"));
        texts_add(&spec->after, dt_buf_take(&text));
    }
}

void dt_spec_fill(struct dt_spec *spec, const struct dt_tree *resolved)
{
    const struct dt_tree *loss = dt_tree_get(resolved, "on_control_loss");
    const char *mode = dt_tree_str(dt_tree_get(resolved, "topology"), "mode", "prefer");
    int64_t least = 1, most = 1, step = 1;
    bool is_known = dt_spec_nodes(resolved, &least, &most, &step);

    assert(is_known);
    (void)is_known;
    fill_object(spec, &dt_spec_root, resolved);
    spec->nodes_min = (int)least;
    spec->nodes_max = (int)most;
    spec->nodes_step = (int)step;
    spec->is_trainer = dt_tree_get(resolved, "trainer") != NULL;
    spec->is_topology_required = strcmp(mode, "require") == 0;
    spec->is_mpi_lean = strcmp(dt_tree_str(resolved, "mpi", "site"), "lean") == 0;
    if (loss->kind == DT_TREE_MAP) {
        spec->control_loss = DT_CONTROL_STOP;
        if (dt_parse_duration_ms(dt_tree_str(loss, "stop", "1m"), &spec->control_loss_stop_ms,
                                 NULL))
            spec->control_loss_stop_ms = 60000;
    }
    fill_rules(spec, dt_spec_at(resolved, "restart.rules"));
    fill_after(spec, dt_tree_get(resolved, "after"));
    spec->resolved = dt_tree_copy(resolved);
}
