/* Words about fields: dtctl explain, the manual page job.yaml(5), completion of paths. */
#include "spec_table.h"

#include <stdio.h>
#include <string.h>

#include "dt/base/opts.h"
#include "dt/base/text.h"

/* The default as the user reads it, or NULL when there is none. */
static const char *default_text(const struct dt_spec_field *field)
{
    if (field->note)
        return field->note;
    return field->initial;
}

static void served_print(struct dt_buf *buf, const struct dt_spec_field *field)
{
    if (field->served && field->served[0]) {
        dt_buf_text(buf, "  served now: ");
        dt_spec_words_print(buf, field->served);
        dt_buf_byte(buf, '\n');
    } else if (field->served) {
        dt_buf_text(buf, "  not served yet\n");
    } else if (field->unserved_types & DT_SPEC_MAP) {
        dt_buf_text(buf, "  the map form is not served yet\n");
    } else if (field->unserved_types & DT_SPEC_WORD) {
        dt_buf_print(buf, "  %s is not served yet\n", field->words);
    }
}

/* One line a member: name, what it takes, default. */
static void members_print(struct dt_buf *buf, const struct dt_spec_object *object)
{
    for (size_t i = 0; i < object->count; i++) {
        const struct dt_spec_field *field = &object->fields[i];
        struct dt_buf types = {0};

        dt_spec_types_print(&types, field);
        dt_buf_print(buf, "  %-16s  %s", field->name, dt_buf_str(&types));
        if (field->is_required)
            dt_buf_text(buf, "; required");
        else if (default_text(field))
            dt_buf_print(buf, "; default %s", default_text(field));
        dt_buf_byte(buf, '\n');
        dt_buf_release(&types);
    }
}

static void field_print(struct dt_buf *buf, const char *path, const struct dt_spec_field *field)
{
    struct dt_buf types = {0};

    dt_spec_types_print(&types, field);
    dt_buf_print(buf, "%s: %s\n", path, dt_buf_str(&types));
    dt_buf_release(&types);
    dt_buf_print(buf, "  %s\n", field->help);
    if (field->unit)
        dt_buf_print(buf, "  unit: %s\n", field->unit);
    if (field->is_required)
        dt_buf_text(buf, "  required\n");
    else if (default_text(field))
        dt_buf_print(buf, "  default: %s\n", default_text(field));
    served_print(buf, field);
    if (field->object) {
        dt_buf_text(buf, "\nkeys:\n");
        members_print(buf, field->object);
    } else if (field->item) {
        dt_buf_text(buf, "\neach entry: ");
        dt_spec_types_print(buf, field->item);
        dt_buf_print(buf, "\n  %s\n", field->item->help);
        if (field->item->object)
            members_print(buf, field->item->object);
    }
    if (strcmp(path, "restart.rules") == 0) {
        dt_buf_text(buf, "\nbuilt-in rules, behind your own:\n");
        dt_spec_rules_print(buf);
    }
}

struct lookup {
    char wanted[256];
    const struct dt_spec_field *found;
    char nearest[256];
    int distance;
};

static void on_row(void *arg, const char *path, const struct dt_spec_field *field)
{
    struct lookup *lookup = arg;
    const char *last = strrchr(lookup->wanted, '.');
    int distance = dt_text_distance(lookup->wanted, path, 3);
    int short_distance = dt_text_distance(last ? last + 1 : lookup->wanted, field->name, 2);

    if (strcmp(path, lookup->wanted) == 0)
        lookup->found = field;
    if (short_distance + 1 < distance)
        distance = short_distance + 1;
    if (distance < lookup->distance) {
        lookup->distance = distance;
        snprintf(lookup->nearest, sizeof(lookup->nearest), "%s", path);
    }
}

enum dt_code dt_spec_explain(struct dt_buf *buf, const char *path, struct dt_err *err)
{
    struct lookup lookup = {.distance = 3};
    size_t size = 0;

    if (!*path) {
        dt_buf_text(buf, "job.yaml: one job, as a map of these keys "
                         "(dtctl explain KEY says more)\n\n");
        members_print(buf, &dt_spec_root);
        return DT_OK;
    }
    /* restart.rules[0].on is restart.rules.on */
    for (; *path && size + 1 < sizeof(lookup.wanted); path++) {
        if (*path == '[')
            path += strcspn(path, "]");
        else
            lookup.wanted[size++] = *path;
        if (!*path)
            break;
    }
    dt_spec_each(on_row, &lookup);
    if (!lookup.found) {
        enum dt_code code = dt_fail(err, DT_NOT_FOUND, "job.yaml has no field \"%.80s\"",
                                    lookup.wanted);

        if (lookup.nearest[0])
            dt_hint(err, "did you mean %s?", lookup.nearest);
        else
            dt_hint(err, "dtctl explain lists the fields");
        return code;
    }
    field_print(buf, lookup.wanted, lookup.found);
    return DT_OK;
}

static void on_man_row(void *arg, const char *path, const struct dt_spec_field *field)
{
    struct dt_buf *buf = arg;
    struct dt_buf types = {0};

    dt_spec_types_print(&types, field);
    dt_buf_text(buf, ".TP\n.B ");
    dt_roff_text(buf, path);
    dt_buf_text(buf, "\n");
    dt_roff_text(buf, field->help);
    dt_buf_text(buf, "\n.br\n");
    dt_roff_text(buf, dt_buf_str(&types));
    if (field->is_required) {
        dt_buf_text(buf, "; required");
    } else if (default_text(field)) {
        dt_buf_text(buf, "; default: ");
        dt_roff_text(buf, default_text(field));
    }
    dt_buf_text(buf, ".\n");
    dt_buf_release(&types);
    if (field->served || field->unserved_types) {
        struct dt_buf served = {0};

        served_print(&served, field);
        dt_buf_text(buf, ".br\n");
        dt_roff_text(buf, dt_buf_str(&served) + 2);
        dt_buf_release(&served);
    }
}

void dt_spec_man(struct dt_buf *buf)
{
    struct dt_buf rules = {0};

    dt_buf_print(buf, ".TH JOB.YAML 5 \"\" \"dt %s\" \"dt\"\n.SH NAME\n"
                      "job.yaml \\- a job for dt\n.SH DESCRIPTION\n", DT_VERSION);
    dt_roff_text(buf,
                 "One YAML document in UTF-8, at most 256 KiB. Scalars follow the YAML 1.2 core "
                 "rules: only true and false are booleans, a number has no leading zero. "
                 "Durations are numbers with units (90s, 2h30m, 1d), sizes too (2GiB, 500MB), "
                 "instants are RFC 3339 with an offset. Duplicate keys, anchors, aliases, tags "
                 "and tabs in the indentation are refused. Exactly one of trainer, command and "
                 "script is given.\n");
    dt_buf_text(buf, ".SH FIELDS\n");
    dt_spec_each(on_man_row, buf);
    dt_buf_text(buf, ".SH RESTART RULES\nThese follow the rules of restart.rules; the first "
                     "match decides.\n.nf\n");
    dt_spec_rules_print(&rules);
    dt_roff_text(buf, dt_buf_str(&rules));
    dt_buf_release(&rules);
    dt_buf_text(buf, ".fi\n.SH SEE ALSO\n.BR dtctl (1)\n");
}

struct completion {
    struct dt_buf *buf;
    const char *prefix;
};

static void on_complete(void *arg, const char *path, const struct dt_spec_field *field)
{
    struct completion *completion = arg;

    (void)field;
    if (strncmp(path, completion->prefix, strlen(completion->prefix)) == 0)
        dt_buf_print(completion->buf, "%s\n", path);
}

void dt_spec_complete(struct dt_buf *buf, const char *prefix)
{
    struct completion completion = {buf, prefix};

    dt_spec_each(on_complete, &completion);
}
