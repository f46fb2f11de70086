/* JSON Schema of job.yaml, from the field table. */
#include "spec_table.h"

#include <stdio.h>
#include <string.h>

#include "dt/base/units.h"

static struct dt_tree *object_schema(const struct dt_spec_object *object);
static struct dt_tree *field_schema(const struct dt_spec_field *field);

static struct dt_tree *typed(struct dt_tree *forms, const char *type)
{
    struct dt_tree *form = dt_tree_put_new(forms, NULL, DT_TREE_MAP);

    dt_tree_put_str(form, "type", type);
    return form;
}

static void int_form(struct dt_tree *forms, const struct dt_spec_field *field)
{
    struct dt_tree *form = typed(forms, "integer");

    if (field->wraps)
        return;
    dt_tree_put_int(form, "minimum", field->least);
    if (field->most)
        dt_tree_put_int(form, "maximum", field->most);
}

static void decimal_form(struct dt_tree *forms, const struct dt_spec_field *field)
{
    struct dt_tree *form = typed(forms, "number");
    char text[64];

    dt_decimal_print((struct dt_decimal){field->least, -6}, text, sizeof(text));
    dt_tree_put_float(form, "minimum", text);
    dt_decimal_print((struct dt_decimal){field->most, -6}, text, sizeof(text));
    dt_tree_put_float(form, "maximum", text);
}

static void word_form(struct dt_tree *forms, const struct dt_spec_field *field)
{
    struct dt_tree *list = dt_tree_put_new(dt_tree_put_new(forms, NULL, DT_TREE_MAP), "enum",
                                           DT_TREE_LIST);
    int64_t number;

    for (const char *at = field->words; *at;) {
        size_t length = strcspn(at, " ");
        struct dt_tree *word = dt_tree_put_text(list, NULL, at, length);

        if (dt_parse_int(word->text, 0, INT64_MAX, &number))
            dt_tree_put_int(list, NULL, number); /* rank_logs: 0 */
        at += length;
        at += strspn(at, " ");
    }
}

static void text_forms(struct dt_tree *forms, const struct dt_spec_field *field)
{
    static const struct { unsigned type; const char *pattern; } patterns[] = {
        {DT_SPEC_NAME, "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"},
        {DT_SPEC_PATH, "^/"},
        {DT_SPEC_DURATION, "^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$"},
        {DT_SPEC_SIZE, "^[0-9]+(\\.[0-9]+)?(B|[KMGTP]B|[KMGTP]iB)$"},
    };

    for (size_t i = 0; i < DT_COUNT(patterns); i++)
        if (field->types & patterns[i].type)
            dt_tree_put_str(typed(forms, "string"), "pattern", patterns[i].pattern);
    if (field->types & DT_SPEC_INSTANT)
        dt_tree_put_str(typed(forms, "string"), "format", "date-time");
    if (field->types & (DT_SPEC_STR | DT_SPEC_BLOCK)) {
        bool is_count = (field->types & DT_SPEC_LIST) != 0;
        struct dt_tree *form = typed(forms, "string");

        if (!(field->types & DT_SPEC_NUMTEXT))
            dt_tree_put_int(form, "minLength", 1);
        dt_tree_put_int(form, "maxLength", field->most && !is_count ? field->most : 4096);
        if (field->types & DT_SPEC_NUMTEXT)
            typed(forms, "integer");
    }
}

static void list_form(struct dt_tree *forms, const struct dt_spec_field *field)
{
    struct dt_tree *form = typed(forms, "array");

    dt_tree_add(form, "items", field_schema(field->item));
    if (field->least)
        dt_tree_put_int(form, "minItems", field->least);
    dt_tree_put_int(form, "maxItems", field->most ? field->most : 1024);
}

static void dict_form(struct dt_tree *forms, const struct dt_spec_field *field)
{
    struct dt_tree *form = typed(forms, "object");

    dt_tree_add(form, "additionalProperties", field_schema(field->item));
    if (field->most)
        dt_tree_put_int(form, "maxProperties", field->most);
}

/* The default as a value, when it is one. */
static void put_default(struct dt_tree *schema, const struct dt_spec_field *field)
{
    struct dt_tree *value;

    if (!field->initial || field->initial[0] == '[' || field->initial[0] == '{')
        return;
    value = dt_tree_put_str(schema, "default", field->initial);
    if (field->types & (DT_SPEC_BOOL | DT_SPEC_INT | DT_SPEC_DECIMAL))
        dt_tree_type_plain(value);
}

static struct dt_tree *field_schema(const struct dt_spec_field *field)
{
    struct dt_tree *schema = dt_tree_make(DT_TREE_MAP);
    struct dt_tree *forms = dt_tree_make(DT_TREE_LIST);

    dt_tree_put_str(schema, "description", field->help);
    put_default(schema, field);
    if (field->types & DT_SPEC_NULL)
        typed(forms, "null");
    if (field->types & DT_SPEC_BOOL)
        typed(forms, "boolean");
    if (field->types & DT_SPEC_INT)
        int_form(forms, field);
    if (field->types & DT_SPEC_DECIMAL)
        decimal_form(forms, field);
    if (field->types & DT_SPEC_WORD)
        word_form(forms, field);
    text_forms(forms, field);
    if (field->types & DT_SPEC_LIST)
        list_form(forms, field);
    if (field->types & DT_SPEC_DICT)
        dict_form(forms, field);
    if (field->types & DT_SPEC_MAP)
        dt_tree_add(forms, NULL, object_schema(field->object));
    if (field->types & DT_SPEC_ANY)
        typed(forms, "object");
    if (forms->count == 1) {
        for (const struct dt_tree *part = forms->first->first; part; part = part->next)
            dt_tree_add(schema, part->key, dt_tree_copy(part));
        dt_tree_free(forms);
    } else {
        dt_tree_add(schema, "anyOf", forms);
    }
    return schema;
}

static struct dt_tree *object_schema(const struct dt_spec_object *object)
{
    struct dt_tree *schema = dt_tree_make(DT_TREE_MAP);
    struct dt_tree *properties, *required = dt_tree_make(DT_TREE_LIST);

    dt_tree_put_str(schema, "type", "object");
    dt_tree_put_bool(schema, "additionalProperties", false);
    properties = dt_tree_put_new(schema, "properties", DT_TREE_MAP);
    for (size_t i = 0; i < object->count; i++) {
        const struct dt_spec_field *field = &object->fields[i];

        dt_tree_add(properties, field->name, field_schema(field));
        if (field->is_required)
            dt_tree_put_str(required, NULL, field->name);
    }
    if (required->count)
        dt_tree_add(schema, "required", required);
    else
        dt_tree_free(required);
    return schema;
}

struct dt_tree *dt_spec_schema(void)
{
    static const char *const forms[] = {"trainer", "command", "script"};
    struct dt_tree *schema = dt_tree_make(DT_TREE_MAP);
    struct dt_tree *root = object_schema(&dt_spec_root), *one_of;

    dt_tree_put_str(schema, "$schema", "https://json-schema.org/draft/2020-12/schema");
    dt_tree_put_str(schema, "title", "dt job.yaml, version 1");
    for (const struct dt_tree *part = root->first; part; part = part->next)
        dt_tree_add(schema, part->key, dt_tree_copy(part));
    one_of = dt_tree_put_new(schema, "oneOf", DT_TREE_LIST);
    for (size_t i = 0; i < DT_COUNT(forms); i++)
        dt_tree_put_str(dt_tree_put_new(dt_tree_put_new(one_of, NULL, DT_TREE_MAP), "required",
                                        DT_TREE_LIST), NULL, forms[i]);
    dt_tree_free(root);
    return schema;
}
