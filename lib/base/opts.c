/* Reading a command line by its table. */
#include "dt/base/opts.h"

#include <assert.h>
#include <string.h>

#include "dt/base/text.h"
#include "dt/base/units.h"

#define OPTS_MAX 64

static const struct dt_opt help_row = {.name = "help", .letter = 'h', .type = DT_OPT_FLAG,
                                       .help = "show this help"};

static const struct dt_opt *row_by_name(const struct dt_cmd *cmd, const char *name, size_t size)
{
    for (size_t i = 0; i < cmd->opts_count; i++)
        if (strlen(cmd->opts[i].name) == size && strncmp(cmd->opts[i].name, name, size) == 0)
            return &cmd->opts[i];
    return size == 4 && strncmp(name, "help", 4) == 0 ? &help_row : NULL;
}

static const struct dt_opt *row_by_letter(const struct dt_cmd *cmd, char letter)
{
    for (size_t i = 0; i < cmd->opts_count; i++)
        if (cmd->opts[i].letter == letter)
            return &cmd->opts[i];
    return letter == 'h' ? &help_row : NULL;
}

static bool is_one_of(const char *words, const char *text)
{
    size_t size = strlen(text);

    for (const char *at = words; *at;) {
        size_t length = strcspn(at, " ");

        if (length == size && strncmp(at, text, size) == 0)
            return true;
        at += length + (at[length] == ' ');
    }
    return false;
}

static enum dt_code value_check(const struct dt_opt *opt, const char *text, struct dt_err *err)
{
    int64_t number;
    enum dt_code code = DT_OK;

    switch (opt->type) {
    case DT_OPT_INT:
        if (!dt_parse_int(text, opt->least, opt->most, &number))
            return dt_fail(err, DT_USAGE,
                           "--%s: expected a whole number %lld to %lld, found \"%s\"", opt->name,
                           (long long)opt->least, (long long)opt->most, text);
        break;
    case DT_OPT_DURATION:
        code = dt_parse_duration_ms(text, &number, err);
        break;
    case DT_OPT_SIZE:
        code = dt_parse_size_bytes(text, &number, err);
        break;
    case DT_OPT_FLAG:
    case DT_OPT_STR:
    case DT_OPT_LIST:
        break;
    }
    if (code) {
        dt_prefix(err, "--%s", opt->name);
        return DT_USAGE;
    }
    if (opt->words && !is_one_of(opt->words, text)) {
        dt_fail(err, DT_USAGE, "--%s: \"%s\" is none of: %s", opt->name, text, opt->words);
        return DT_USAGE;
    }
    return DT_OK;
}

static enum dt_code args_note(struct dt_args *args, const struct dt_opt *opt, const char *text,
                              struct dt_err *err)
{
    enum dt_code code;

    if (opt->type != DT_OPT_FLAG && (code = value_check(opt, text, err)))
        return code;
    args->values = dt_realloc(args->values, args->values_count + 1, sizeof(*args->values));
    args->values[args->values_count++] = (struct dt_args_value){opt, text};
    return DT_OK;
}

static enum dt_code unknown_option(const struct dt_cmd *cmd, const char *word, struct dt_err *err)
{
    const char *names[OPTS_MAX];
    char name[65] = {0};
    const char *near;
    size_t count = 0, size = strcspn(word + 2, "=");

    dt_fail(err, DT_USAGE, "unknown option %s", word);
    if (word[1] == '-' && size < sizeof(name)) {
        memcpy(name, word + 2, size);
        for (size_t i = 0; i < cmd->opts_count && count < OPTS_MAX; i++)
            names[count++] = cmd->opts[i].name;
        near = dt_text_nearest(name, names, count);
        if (near)
            dt_hint(err, "did you mean --%s?", near);
    }
    return DT_USAGE;
}

/* The option word argv[*at] with its value; *at moves to the last word used. */
static enum dt_code args_option(struct dt_args *args, int argc, char **argv, int *at,
                                struct dt_err *err)
{
    const char *word = argv[*at], *value = NULL;
    const struct dt_opt *opt;

    if (word[1] == '-') {
        size_t size = strcspn(word + 2, "=");

        opt = row_by_name(args->cmd, word + 2, size);
        value = word[2 + size] ? word + 3 + size : NULL;
    } else {
        opt = row_by_letter(args->cmd, word[1]);
        value = word[2] ? word + 2 + (word[2] == '=') : NULL;
    }
    if (!opt)
        return unknown_option(args->cmd, word, err);
    if (opt->type == DT_OPT_FLAG) {
        if (value)
            return dt_fail(err, DT_USAGE, "--%s takes no value", opt->name);
        return args_note(args, opt, "", err);
    }
    if (!value) {
        if (*at + 1 >= argc)
            return dt_fail(err, DT_USAGE, "--%s needs a value: %s", opt->name, opt->arg);
        value = argv[++*at];
    }
    return args_note(args, opt, value, err);
}

static enum dt_code operands_check(const struct dt_args *args, struct dt_err *err)
{
    const struct dt_cmd *cmd = args->cmd;
    int count = (int)args->operands_count;

    if (dt_args_has(args, "help"))
        return DT_OK;
    if (count < cmd->operands_least)
        return dt_fail(err, DT_USAGE, "%s%sexpected %s", cmd->name, *cmd->name ? ": " : "",
                       cmd->operands);
    if (cmd->operands_most >= 0 && count > cmd->operands_most)
        return dt_fail(err, DT_USAGE, "%s%sunexpected \"%s\"", cmd->name, *cmd->name ? ": " : "",
                       args->operands[cmd->operands_most]);
    return DT_OK;
}

enum dt_code dt_args_parse(const struct dt_cmd *cmd, int argc, char **argv, struct dt_args *args,
                           struct dt_err *err)
{
    struct dt_args draft = {.cmd = cmd};
    bool is_over = false;
    enum dt_code code = DT_OK;

    assert(cmd->opts_count <= OPTS_MAX);
    draft.operands = dt_alloc((size_t)argc + 1, sizeof(char *));
    for (int i = 0; i < argc && !code; i++) {
        if (!is_over && strcmp(argv[i], "--") == 0)
            is_over = true;
        else if (!is_over && argv[i][0] == '-' && argv[i][1])
            code = args_option(&draft, argc, argv, &i, err);
        else
            draft.operands[draft.operands_count++] = argv[i];
    }
    if (!code)
        code = operands_check(&draft, err);
    if (code) {
        if (err && !err->hint[0])
            dt_hint(err, "--help shows the options");
        dt_args_release(&draft);
        return code;
    }
    *args = draft;
    return DT_OK;
}

void dt_args_release(struct dt_args *args)
{
    if (!args)
        return;
    dt_free(args->values);
    dt_free(args->operands);
    *args = (struct dt_args){0};
}

bool dt_args_has(const struct dt_args *args, const char *name)
{
    for (size_t i = 0; i < args->values_count; i++)
        if (strcmp(args->values[i].opt->name, name) == 0)
            return true;
    return false;
}

const char *dt_args_str(const struct dt_args *args, const char *name)
{
    const struct dt_opt *opt = row_by_name(args->cmd, name, strlen(name));

    assert(opt);
    for (size_t i = args->values_count; i > 0; i--)
        if (args->values[i - 1].opt == opt)
            return args->values[i - 1].text;
    return opt->initial;
}

int64_t dt_args_int(const struct dt_args *args, const char *name, int64_t otherwise)
{
    const char *text = dt_args_str(args, name);
    int64_t value;

    return text && dt_parse_int(text, INT64_MIN, INT64_MAX, &value) ? value : otherwise;
}

int64_t dt_args_ms(const struct dt_args *args, const char *name, int64_t otherwise)
{
    const char *text = dt_args_str(args, name);
    int64_t value;

    return text && dt_parse_duration_ms(text, &value, NULL) == DT_OK ? value : otherwise;
}

int64_t dt_args_bytes(const struct dt_args *args, const char *name, int64_t otherwise)
{
    const char *text = dt_args_str(args, name);
    int64_t value;

    return text && dt_parse_size_bytes(text, &value, NULL) == DT_OK ? value : otherwise;
}

const char *dt_args_nth(const struct dt_args *args, const char *name, size_t index)
{
    for (size_t i = 0; i < args->values_count; i++)
        if (strcmp(args->values[i].opt->name, name) == 0 && index-- == 0)
            return args->values[i].text;
    return NULL;
}

/* Words of name that begin argv, or 0. */
static int words_match(const char *name, int argc, char **argv)
{
    int words = 0;

    while (*name) {
        size_t length = strcspn(name, " ");

        if (words >= argc || strlen(argv[words]) != length ||
            strncmp(argv[words], name, length) != 0)
            return 0;
        words++;
        name += length + (name[length] == ' ');
    }
    return words;
}

const struct dt_cmd *dt_cmd_find(const struct dt_cmd *const *cmds, size_t count, int argc,
                                 char **argv, int *words)
{
    const struct dt_cmd *found = NULL;

    *words = 0;
    for (size_t i = 0; i < count; i++) {
        int match = words_match(cmds[i]->name, argc, argv);

        if (match > *words) {
            *words = match;
            found = cmds[i];
        }
    }
    return found;
}
