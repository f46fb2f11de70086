/* Help and manual pages from command tables. */
#include "dt/base/opts.h"

#include <stdio.h>
#include <string.h>

#define HELP_COLUMN 28
#define HELP_WIDTH 98

/* Append text wrapped at HELP_WIDTH, later lines indented to column; an empty line stays one. */
static void wrap(struct dt_buf *buf, const char *text, size_t column)
{
    size_t at = column;

    while (*text) {
        size_t word = strcspn(text, " \n"), gap = strspn(text + word, " \n");
        bool ends_paragraph = memchr(text + word, '\n', gap) !=
                              memrchr(text + word, '\n', gap);

        if (at > column && at + 1 + word > HELP_WIDTH) {
            dt_buf_print(buf, "\n%*s", (int)column, "");
            at = column;
        } else if (at > column) {
            dt_buf_byte(buf, ' ');
            at++;
        }
        dt_buf_add(buf, text, word);
        at += word;
        text += word + gap;
        if (ends_paragraph && *text) {
            dt_buf_print(buf, "\n\n%*s", (int)column, "");
            at = column;
        }
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

void dt_roff_text(struct dt_buf *buf, const char *text)
{
    static const struct {
        char letter;
        const char *roff;
    } rows[] = {{'\\', "\\e"},    {'-', "\\-"},     {'\'', "\\(aq"},
                {'`', "\\(ga"},  {'^', "\\(ha"},  {'~', "\\(ti"}};

    for (; *text; text++) {
        const char *roff = NULL;

        for (size_t i = 0; i < DT_COUNT(rows); i++)
            if (rows[i].letter == *text)
                roff = rows[i].roff;
        if (*text == '.' && (!buf->size || buf->data[buf->size - 1] == '\n'))
            roff = "\\&.";
        if (roff)
            dt_buf_text(buf, roff);
        else
            dt_buf_byte(buf, *text);
    }
}

/* Paragraphs: an empty line between two of them becomes a request. */
static void man_paragraphs(struct dt_buf *buf, const char *text)
{
    for (const char *end; text; text = end ? end + strspn(end, "\n") : NULL) {
        char *part;

        end = strstr(text, "\n\n");
        part = end ? dt_copy_bytes(text, (size_t)(end - text)) : dt_copy_text(text);
        dt_buf_text(buf, ".PP\n");
        dt_roff_text(buf, part);
        dt_buf_byte(buf, '\n');
        dt_free(part);
    }
}

static void man_opts(struct dt_buf *buf, const struct dt_cmd *cmd)
{
    for (size_t i = 0; i < cmd->opts_count; i++) {
        struct dt_buf text = {0};
        char form[80];

        opt_form(&cmd->opts[i], form, sizeof(form));
        dt_buf_text(buf, ".TP\n.B ");
        dt_roff_text(buf, form + strspn(form, " "));
        dt_buf_byte(buf, '\n');
        opt_text(&cmd->opts[i], &text);
        dt_roff_text(buf, dt_buf_str(&text));
        dt_buf_byte(buf, '\n');
        dt_buf_release(&text);
    }
}

static void man_cmd(struct dt_buf *buf, const char *program, const struct dt_cmd *cmd)
{
    if (*cmd->name) {
        dt_buf_text(buf, ".SS ");
        dt_roff_text(buf, program);
        dt_buf_byte(buf, ' ');
        dt_roff_text(buf, cmd->name);
        dt_buf_byte(buf, ' ');
        dt_roff_text(buf, cmd->operands);
        dt_buf_byte(buf, '\n');
        dt_roff_text(buf, cmd->summary);
        dt_buf_byte(buf, '\n');
    }
    if (cmd->detail)
        man_paragraphs(buf, cmd->detail);
    man_opts(buf, cmd);
    if (cmd->examples) {
        dt_buf_text(buf, ".PP\nExamples:\n.nf\n");
        dt_roff_text(buf, cmd->examples);
        dt_buf_text(buf, ".fi\n");
    }
}

/* Every status once, in ascending order: the codes' and what the program adds. */
static void man_exits(struct dt_buf *buf, const struct dt_program *page)
{
    if (page->has_own_exits && !page->exits_count)
        return;
    dt_buf_text(buf, ".SH EXIT STATUS\n");
    for (int status = 0; status < 256; status++) {
        struct dt_buf text = {0};

        for (int code = 0; code < DT_CODE_COUNT && !page->has_own_exits; code++)
            if (dt_code_exit((enum dt_code)code) == status)
                dt_buf_print(&text, "%s%s", text.size ? " " : "", dt_code_help((enum dt_code)code));
        for (size_t i = 0; i < page->exits_count; i++)
            if (page->exits[i].status == status)
                dt_buf_print(&text, "%s%s", text.size ? " " : "", page->exits[i].help);
        if (text.size) {
            dt_buf_print(buf, ".TP\n.B %d\n", status);
            dt_roff_text(buf, dt_buf_str(&text));
            dt_buf_byte(buf, '\n');
        }
        dt_buf_release(&text);
    }
}

void dt_cmd_man(struct dt_buf *buf, const struct dt_program *page)
{
    const char *description = page->description;
    size_t count = page->cmds_count;

    dt_buf_print(buf, ".TH %s %d \"\" \"dt %s\"\n.SH NAME\n%s \\- ", page->name,
                 page->section ? page->section : 1, DT_VERSION, page->name);
    dt_roff_text(buf, page->summary);
    dt_buf_print(buf, "\n.SH SYNOPSIS\n.B %s\n", page->name);
    if (count == 1) {
        dt_buf_text(buf, "[options] ");
        dt_roff_text(buf, page->cmds[0]->operands);
    } else {
        dt_buf_text(buf, "command [options] [operands]");
    }
    dt_buf_text(buf, "\n.SH DESCRIPTION\n");
    man_paragraphs(buf, description ? description : page->cmds[0]->summary);
    dt_buf_print(buf, ".SH %s\n", count == 1 ? "OPTIONS" : "COMMANDS");
    for (size_t i = 0; i < count; i++)
        man_cmd(buf, page->name, page->cmds[i]);
    man_exits(buf, page);
}
