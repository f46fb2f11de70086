/* Completion scripts for bash, zsh and fish from command tables. */
#include "dt/base/opts.h"

#include <string.h>

/* What a program completes to, and where one of its commands stands in the table. */
struct place {
    const struct dt_program *program;
    size_t index;
};

static const struct dt_cmd *cmd_of(const struct place *at)
{
    return at->program->cmds[at->index];
}

/* Size of the first word: "nodes" of "nodes ls". */
static int first_size(const struct dt_cmd *cmd)
{
    return (int)strcspn(cmd->name, " ");
}

/* "ls" of "nodes ls", NULL of a command of one word. */
static const char *second_word(const struct dt_cmd *cmd)
{
    const char *blank = strchr(cmd->name, ' ');

    return blank ? blank + 1 : NULL;
}

static bool is_same_group(const struct dt_cmd *left, const struct dt_cmd *right)
{
    return first_size(left) == first_size(right) &&
           strncmp(left->name, right->name, (size_t)first_size(left)) == 0;
}

/* No command before it begins with the same word. */
static bool is_first_of_group(const struct place *at)
{
    for (size_t i = 0; i < at->index; i++)
        if (is_same_group(at->program->cmds[i], cmd_of(at)))
            return false;
    return true;
}

/* The second words of at's group, blank before each; false when it has none. */
static bool second_words(struct dt_buf *buf, const struct place *at)
{
    bool has_any = false;

    for (size_t i = 0; i < at->program->cmds_count; i++) {
        const struct dt_cmd *cmd = at->program->cmds[i];

        if (!is_same_group(cmd, cmd_of(at)) || !second_word(cmd))
            continue;
        dt_buf_print(buf, " %s", second_word(cmd));
        has_any = true;
    }
    return has_any;
}

/* text inside single quotes of a shell script; zsh's _arguments also reads []: in it. */
static void shell_text(struct dt_buf *buf, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            dt_buf_text(buf, "'\\''");
        else if (strchr("[]:", *text))
            dt_buf_byte(buf, ' ');
        else
            dt_buf_byte(buf, *text);
    }
}

/* ---- bash ---- */

/* One branch: the words behind a command, and the closed lists of its options' values. */
static void bash_branch(struct dt_buf *buf, const struct place *at)
{
    const struct dt_cmd *cmd = cmd_of(at);

    dt_buf_print(buf, "  \"%s \"*)\n    case \"$prev\" in\n", cmd->name);
    for (size_t i = 0; i < cmd->opts_count; i++) {
        const struct dt_opt *opt = &cmd->opts[i];

        if (!opt->words)
            continue;
        dt_buf_print(buf, "    --%s", opt->name);
        if (opt->letter)
            dt_buf_print(buf, "|-%c", opt->letter);
        dt_buf_print(buf, ") COMPREPLY=($(compgen -W \"%s\" -- \"$cur\")); return ;;\n",
                     opt->words);
    }
    dt_buf_text(buf, "    esac\n    COMPREPLY=($(compgen -f -W \"");
    for (size_t i = 0; i < cmd->opts_count; i++)
        dt_buf_print(buf, "%s--%s", i ? " " : "", cmd->opts[i].name);
    if (!second_word(cmd))
        second_words(buf, at);
    dt_buf_text(buf, "\" -- \"$cur\")) ;;\n");
}

/* The blank behind a command's name keeps "up" from matching "upgrade"; two words come first. */
static void bash_script(struct dt_buf *buf, const struct dt_program *program)
{
    dt_buf_print(buf,
                 "# bash completion of %s\n_%s() {\n"
                 "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                 "  local line=\"${COMP_WORDS[*]:1:COMP_CWORD-1} \"\n  case \"$line\" in\n",
                 program->name, program->name);
    for (int words = 2; words > 0; words--) {
        for (size_t i = 0; i < program->cmds_count; i++) {
            struct place at = {program, i};

            if ((second_word(cmd_of(&at)) != NULL) == (words == 2))
                bash_branch(buf, &at);
        }
    }
    dt_buf_text(buf, "  *) COMPREPLY=($(compgen -W \"");
    for (size_t i = 0; i < program->cmds_count; i++) {
        struct place at = {program, i};

        if (is_first_of_group(&at))
            dt_buf_print(buf, "%s%.*s", i ? " " : "", first_size(cmd_of(&at)), cmd_of(&at)->name);
    }
    dt_buf_print(buf, "\" -- \"$cur\")) ;;\n  esac\n}\ncomplete -F _%s %s\n", program->name,
                 program->name);
}

/* ---- zsh ---- */

/* 'word:summary' rows of an array. */
static void zsh_row(struct dt_buf *buf, const char *word, int size, const char *summary)
{
    dt_buf_print(buf, "    '%.*s:", size, word);
    shell_text(buf, summary);
    dt_buf_text(buf, "'\n");
}

/* "words)" and what stands behind that command, whose own words are taken off first. */
static void zsh_branch(struct dt_buf *buf, const struct dt_cmd *cmd)
{
    int words = second_word(cmd) ? 2 : 1;

    dt_buf_print(buf, "  '%s') shift %d words; (( CURRENT -= %d )); _arguments", cmd->name, words,
                 words);
    for (size_t i = 0; i < cmd->opts_count; i++) {
        const struct dt_opt *opt = &cmd->opts[i];

        dt_buf_print(buf, " '%s--%s[", opt->type == DT_OPT_LIST ? "*" : "", opt->name);
        shell_text(buf, opt->help);
        dt_buf_text(buf, "]");
        if (opt->words)
            dt_buf_print(buf, ":value:(%s)", opt->words);
        else if (opt->type != DT_OPT_FLAG)
            dt_buf_text(buf, ":value:");
        dt_buf_text(buf, "'");
    }
    dt_buf_text(buf, " '*:file:_files'; return ;;\n");
}

/* Where the second word of a group is being written: its words. */
static void zsh_group(struct dt_buf *buf, const struct place *at)
{
    struct dt_buf words = {0};

    if (is_first_of_group(at) && second_words(&words, at)) {
        dt_buf_print(buf, "  %.*s) commands=(\n", first_size(cmd_of(at)), cmd_of(at)->name);
        for (size_t i = 0; i < at->program->cmds_count; i++) {
            const struct dt_cmd *cmd = at->program->cmds[i];

            if (is_same_group(cmd, cmd_of(at)) && second_word(cmd))
                zsh_row(buf, second_word(cmd), (int)strlen(second_word(cmd)), cmd->summary);
        }
        dt_buf_text(buf, "    ); _describe command commands; return ;;\n");
    }
    dt_buf_release(&words);
}

static void zsh_script(struct dt_buf *buf, const struct dt_program *program)
{
    dt_buf_print(buf, "#compdef %s\n_%s() {\n  local -a commands\n  commands=(\n", program->name,
                 program->name);
    for (size_t i = 0; i < program->cmds_count; i++) {
        struct place at = {program, i};

        if (is_first_of_group(&at))
            zsh_row(buf, cmd_of(&at)->name, first_size(cmd_of(&at)), cmd_of(&at)->summary);
    }
    dt_buf_text(buf, "  )\n  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
                     "  if (( CURRENT == 3 )) && [[ ${words[3]} != -* ]]; then\n"
                     "  case \"${words[2]}\" in\n");
    for (size_t i = 0; i < program->cmds_count; i++)
        zsh_group(buf, &(struct place){program, i});
    dt_buf_text(buf, "  esac\n  fi\n  case \"${words[2]} ${words[3]}\" in\n");
    for (size_t i = 0; i < program->cmds_count; i++)
        if (second_word(program->cmds[i]))
            zsh_branch(buf, program->cmds[i]);
    dt_buf_text(buf, "  esac\n  case \"${words[2]}\" in\n");
    for (size_t i = 0; i < program->cmds_count; i++)
        if (!second_word(program->cmds[i]))
            zsh_branch(buf, program->cmds[i]);
    dt_buf_print(buf, "  esac\n}\nif [[ $funcstack[1] = _%s ]]; then _%s \"$@\"; "
                 "else compdef _%s %s; fi\n",
                 program->name, program->name, program->name, program->name);
}

/* ---- fish ---- */

/* complete -c PROGRAM -n 'the command at is written' */
static void fish_when(struct dt_buf *buf, const struct place *at)
{
    const struct dt_cmd *cmd = cmd_of(at);
    struct dt_buf words = {0};

    dt_buf_print(buf, "complete -c %s -n '__fish_seen_subcommand_from %.*s", at->program->name,
                 first_size(cmd), cmd->name);
    if (second_word(cmd))
        dt_buf_print(buf, "; and __fish_seen_subcommand_from %s", second_word(cmd));
    else if (second_words(&words, at))
        dt_buf_print(buf, "; and not __fish_seen_subcommand_from%s", dt_buf_str(&words));
    dt_buf_text(buf, "'");
    dt_buf_release(&words);
}

/* A word that may come next: the first of a command, or the second of a group. */
static void fish_words(struct dt_buf *buf, const struct place *at)
{
    const struct dt_cmd *cmd = cmd_of(at);
    struct dt_buf words = {0};

    if (is_first_of_group(at)) {
        dt_buf_print(buf, "complete -c %s -n __fish_use_subcommand -a '%.*s' -d '",
                     at->program->name, first_size(cmd), cmd->name);
        shell_text(buf, cmd->summary);
        dt_buf_text(buf, "'\n");
    }
    if (second_word(cmd)) {
        second_words(&words, at);
        dt_buf_print(buf, "complete -c %s -n '__fish_seen_subcommand_from %.*s; and not "
                     "__fish_seen_subcommand_from%s' -a '%s' -d '", at->program->name,
                     first_size(cmd), cmd->name, dt_buf_str(&words), second_word(cmd));
        shell_text(buf, cmd->summary);
        dt_buf_text(buf, "'\n");
    }
    dt_buf_release(&words);
}

static void fish_script(struct dt_buf *buf, const struct dt_program *program)
{
    for (size_t i = 0; i < program->cmds_count; i++) {
        struct place at = {program, i};
        const struct dt_cmd *cmd = cmd_of(&at);

        fish_words(buf, &at);
        for (size_t j = 0; j < cmd->opts_count; j++) {
            const struct dt_opt *opt = &cmd->opts[j];

            fish_when(buf, &at);
            dt_buf_print(buf, " -l %s", opt->name);
            if (opt->letter)
                dt_buf_print(buf, " -s %c", opt->letter);
            if (opt->words)
                dt_buf_print(buf, " -x -a '%s'", opt->words);
            else if (opt->type != DT_OPT_FLAG)
                dt_buf_text(buf, " -r");
            dt_buf_text(buf, " -d '");
            shell_text(buf, opt->help);
            dt_buf_text(buf, "'\n");
        }
    }
}

enum dt_code dt_cmd_completion(struct dt_buf *buf, const struct dt_program *program,
                               const char *shell, struct dt_err *err)
{
    if (strcmp(shell, "bash") == 0)
        bash_script(buf, program);
    else if (strcmp(shell, "zsh") == 0)
        zsh_script(buf, program);
    else if (strcmp(shell, "fish") == 0)
        fish_script(buf, program);
    else
        return dt_fail(err, DT_INVALID, "no completion for \"%s\": bash, zsh or fish", shell);
    return DT_OK;
}
