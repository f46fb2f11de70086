/* Help, manual pages and completion scripts from command tables. */
#include "dt/base/opts.h"

#include <stdio.h>
#include <string.h>

#define HELP_COLUMN 28
#define HELP_WIDTH 98

/* Append text wrapped at HELP_WIDTH, later lines indented to column. */
static void wrap(struct dt_buf *buf, const char *text, size_t column)
{
    size_t at = column;

    while (*text) {
        size_t word = strcspn(text, " \n");

        if (at > column && at + 1 + word > HELP_WIDTH) {
            dt_buf_print(buf, "\n%*s", (int)column, "");
            at = column;
        } else if (at > column) {
            dt_buf_byte(buf, ' ');
            at++;
        }
        dt_buf_add(buf, text, word);
        at += word;
        text += word + (text[word] != 0);
    }
    dt_buf_byte(buf, '\n');
}

/* "-o, --output WORD" */
static void opt_form(const struct dt_opt *opt, char *text, size_t size)
{
    char letter[8] = "    ";

    if (opt->letter)
        snprintf(letter, sizeof(letter), "-%c, ", opt->letter);
    snprintf(text, size, "%s--%s%s%s", letter, opt->name, opt->type == DT_OPT_FLAG ? "" : " ",
             opt->type == DT_OPT_FLAG ? "" : opt->arg);
}

static void opt_text(const struct dt_opt *opt, struct dt_buf *text)
{
    dt_buf_text(text, opt->help);
    if (opt->words)
        dt_buf_print(text, ": %s", opt->words);
    if (opt->unit && *opt->unit)
        dt_buf_print(text, ", in %s", opt->unit);
    if (opt->type == DT_OPT_LIST)
        dt_buf_text(text, " (may be repeated)");
    if (opt->initial)
        dt_buf_print(text, " [%s]", opt->initial);
}

void dt_cmd_help(struct dt_buf *buf, const char *program, const struct dt_cmd *cmd)
{
    dt_buf_print(buf, "usage: %s%s%s%s%s%s\n\n", program, *cmd->name ? " " : "", cmd->name,
                 cmd->opts_count ? " [options]" : "", *cmd->operands ? " " : "", cmd->operands);
    wrap(buf, cmd->summary, 0);
    if (cmd->detail) {
        dt_buf_byte(buf, '\n');
        wrap(buf, cmd->detail, 0);
    }
    if (cmd->opts_count)
        dt_buf_text(buf, "\noptions:\n");
    for (size_t i = 0; i < cmd->opts_count; i++) {
        struct dt_buf text = {0};
        char form[80];

        opt_form(&cmd->opts[i], form, sizeof(form));
        opt_text(&cmd->opts[i], &text);
        if (strlen(form) + 4 > HELP_COLUMN)
            dt_buf_print(buf, "  %s\n%*s", form, HELP_COLUMN, "");
        else
            dt_buf_print(buf, "  %-*s", HELP_COLUMN - 2, form);
        wrap(buf, dt_buf_str(&text), HELP_COLUMN);
        dt_buf_release(&text);
    }
    if (cmd->examples)
        dt_buf_print(buf, "\nexamples:\n%s", cmd->examples);
}

/* Roff text: backslashes and leading dots are special, dashes are options. */
static void roff(struct dt_buf *buf, const char *text)
{
    for (; *text; text++) {
        if (*text == '\\')
            dt_buf_text(buf, "\\e");
        else if (*text == '-')
            dt_buf_text(buf, "\\-");
        else if (*text == '.' && (!buf->size || buf->data[buf->size - 1] == '\n'))
            dt_buf_text(buf, "\\&.");
        else
            dt_buf_byte(buf, *text);
    }
}

static void man_opts(struct dt_buf *buf, const struct dt_cmd *cmd)
{
    for (size_t i = 0; i < cmd->opts_count; i++) {
        struct dt_buf text = {0};
        char form[80];

        opt_form(&cmd->opts[i], form, sizeof(form));
        dt_buf_text(buf, ".TP\n.B ");
        roff(buf, form + strspn(form, " "));
        dt_buf_byte(buf, '\n');
        opt_text(&cmd->opts[i], &text);
        roff(buf, dt_buf_str(&text));
        dt_buf_byte(buf, '\n');
        dt_buf_release(&text);
    }
}

static void man_cmd(struct dt_buf *buf, const char *program, const struct dt_cmd *cmd)
{
    if (*cmd->name) {
        dt_buf_text(buf, ".SS ");
        roff(buf, program);
        dt_buf_byte(buf, ' ');
        roff(buf, cmd->name);
        dt_buf_byte(buf, ' ');
        roff(buf, cmd->operands);
        dt_buf_byte(buf, '\n');
        roff(buf, cmd->summary);
        dt_buf_byte(buf, '\n');
    }
    if (cmd->detail) {
        dt_buf_text(buf, ".PP\n");
        roff(buf, cmd->detail);
        dt_buf_byte(buf, '\n');
    }
    man_opts(buf, cmd);
    if (cmd->examples) {
        dt_buf_text(buf, ".PP\nExamples:\n.nf\n");
        roff(buf, cmd->examples);
        dt_buf_text(buf, ".fi\n");
    }
}

void dt_cmd_man(struct dt_buf *buf, const struct dt_program *page)
{
    const char *program = page->name, *summary = page->summary;
    const struct dt_cmd *const *cmds = page->cmds;
    size_t count = page->cmds_count;

    dt_buf_print(buf, ".TH %s 1 \"\" \"dt %s\"\n.SH NAME\n%s \\- ", program, DT_VERSION, program);
    roff(buf, summary);
    dt_buf_print(buf, "\n.SH SYNOPSIS\n.B %s\n%s[options] [operands]\n.SH COMMANDS\n", program,
                 count > 1 ? "command " : "");
    for (size_t i = 0; i < count; i++)
        man_cmd(buf, program, cmds[i]);
    dt_buf_text(buf, ".SH EXIT STATUS\n");
    for (int code = 0; code < DT_CODE_COUNT; code++) {
        dt_buf_print(buf, ".TP\n.B %d\n", dt_code_exit((enum dt_code)code));
        roff(buf, dt_code_help((enum dt_code)code));
        dt_buf_byte(buf, '\n');
    }
}

static void bash_script(struct dt_buf *buf, const char *program, const struct dt_cmd *const *cmds,
                        size_t count)
{
    dt_buf_print(buf, "# bash completion of %s\n_%s() {\n  local cur=${COMP_WORDS[COMP_CWORD]}\n"
                 "  local line=\"${COMP_WORDS[*]:1:COMP_CWORD-1}\"\n  case \"$line\" in\n",
                 program, program);
    for (size_t i = count; i > 0; i--) {
        const struct dt_cmd *cmd = cmds[i - 1];

        dt_buf_print(buf, "  \"%s\"*) COMPREPLY=($(compgen -f -W \"", cmd->name);
        for (size_t j = 0; j < cmd->opts_count; j++)
            dt_buf_print(buf, "--%s ", cmd->opts[j].name);
        dt_buf_text(buf, "\" -- \"$cur\")) ;;\n");
    }
    dt_buf_text(buf, "  *) COMPREPLY=($(compgen -W \"");
    for (size_t i = 0; i < count; i++)
        dt_buf_print(buf, "%.*s ", (int)strcspn(cmds[i]->name, " "), cmds[i]->name);
    dt_buf_print(buf, "\" -- \"$cur\")) ;;\n  esac\n}\ncomplete -F _%s %s\n", program, program);
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

static void zsh_script(struct dt_buf *buf, const char *program, const struct dt_cmd *const *cmds,
                       size_t count)
{
    dt_buf_print(buf, "#compdef %s\n_%s() {\n  local -a commands\n  commands=(\n", program,
                 program);
    for (size_t i = 0; i < count; i++) {
        dt_buf_print(buf, "    '%s:", cmds[i]->name);
        shell_text(buf, cmds[i]->summary);
        dt_buf_text(buf, "'\n");
    }
    dt_buf_text(buf, "  )\n  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
                     "  case \"${words[2]}\" in\n");
    for (size_t i = 0; i < count; i++) {
        if (strchr(cmds[i]->name, ' ') || !cmds[i]->opts_count)
            continue;
        dt_buf_print(buf, "  %s) _arguments", cmds[i]->name);
        for (size_t j = 0; j < cmds[i]->opts_count; j++) {
            dt_buf_print(buf, " '--%s[", cmds[i]->opts[j].name);
            shell_text(buf, cmds[i]->opts[j].help);
            dt_buf_print(buf, "]%s'", cmds[i]->opts[j].type == DT_OPT_FLAG ? "" : ":value:");
        }
        dt_buf_text(buf, " '*:file:_files' ;;\n");
    }
    dt_buf_print(buf, "  esac\n}\n_%s \"$@\"\n", program);
}

static void fish_script(struct dt_buf *buf, const char *program, const struct dt_cmd *const *cmds,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int first = (int)strcspn(cmds[i]->name, " ");

        dt_buf_print(buf, "complete -c %s -n __fish_use_subcommand -a '%.*s' -d '", program,
                     first, cmds[i]->name);
        shell_text(buf, cmds[i]->summary);
        dt_buf_text(buf, "'\n");
        for (size_t j = 0; j < cmds[i]->opts_count; j++) {
            dt_buf_print(buf, "complete -c %s -n '__fish_seen_subcommand_from %.*s' -l %s -d '",
                         program, first, cmds[i]->name, cmds[i]->opts[j].name);
            shell_text(buf, cmds[i]->opts[j].help);
            dt_buf_text(buf, "'\n");
        }
    }
}

enum dt_code dt_cmd_completion(struct dt_buf *buf, const struct dt_program *program,
                               const char *shell, struct dt_err *err)
{
    const struct dt_cmd *const *cmds = program->cmds;
    size_t count = program->cmds_count;

    if (strcmp(shell, "bash") == 0)
        bash_script(buf, program->name, cmds, count);
    else if (strcmp(shell, "zsh") == 0)
        zsh_script(buf, program->name, cmds, count);
    else if (strcmp(shell, "fish") == 0)
        fish_script(buf, program->name, cmds, count);
    else
        return dt_fail(err, DT_INVALID, "no completion for \"%s\": bash, zsh or fish", shell);
    return DT_OK;
}
