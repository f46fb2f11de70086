/* How far a job got, as a bar that is drawn again or as plain lines. */
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "dt/os/proc.h"
#include "render.h"
#include "say.h"

#define BAR_MOST 40
#define SAY_EVERY_MS 5000

static void count_add(struct dt_buf *buf, int64_t value)
{
    static const char units[] = " kMGTP";
    int unit = 0;
    int64_t tenths = value * 10;

    while (tenths >= 10000 && units[unit + 1]) {
        tenths /= 1000;
        unit++;
    }
    if (!unit)
        dt_buf_print(buf, "%lld", (long long)value);
    else
        dt_buf_print(buf, "%lld.%lld%c", (long long)tenths / 10, (long long)tenths % 10,
                     units[unit]);
}

void dt_progress_line(struct dt_buf *buf, const struct dt_tree *progress, int64_t rate, int width)
{
    int64_t step = dt_tree_int(progress, "step", -1), steps = dt_tree_int(progress, "steps", 0);
    const char *phase = dt_tree_str(progress, "phase", "");
    const char *loss = dt_cell_text(dt_tree_get(progress, "loss"));
    struct dt_buf tail = {0};

    if (step >= 0 && steps > 0)
        dt_buf_print(&tail, "step %lld/%lld", (long long)step, (long long)steps);
    else if (step >= 0)
        dt_buf_print(&tail, "step %lld", (long long)step);
    if (strcmp(loss, "-") != 0)
        dt_buf_print(&tail, "  loss %.4f", strtod(loss, NULL));
    if (rate > 0) {
        dt_buf_text(&tail, "  ");
        count_add(&tail, rate);
        dt_buf_text(&tail, " tokens/s");
    }
    if (*phase && strcmp(phase, "train") != 0) {
        dt_buf_text(&tail, tail.size ? "  " : "");
        dt_add_safe(&tail, phase);
    }
    if (width > 0 && steps > 0 && step >= 0) {
        int bar = width - (int)tail.size - 3, full;

        bar = bar > BAR_MOST ? BAR_MOST : bar < 5 ? 5 : bar;
        full = step >= steps ? bar : (int)(step * bar / steps);
        dt_buf_byte(buf, '[');
        for (int i = 0; i < bar; i++)
            dt_buf_byte(buf, i < full ? '#' : ' ');
        dt_buf_text(buf, "] ");
    }
    dt_buf_add(buf, dt_buf_str(&tail), tail.size);
    dt_buf_release(&tail);
}

static void rate_update(struct dt_progress_bar *bar, const struct dt_tree *progress)
{
    int64_t tokens = dt_tree_int(progress, "tokens", 0), now = dt_clock_ms(), rate;

    if (tokens < bar->tokens)
        bar->at_ms = 0; /* resumed from an older step */
    if (bar->at_ms && tokens > bar->tokens && now - bar->at_ms >= 200) {
        rate = (tokens - bar->tokens) * 1000 / (now - bar->at_ms);
        bar->rate = bar->rate ? (bar->rate * 3 + rate) / 4 : rate;
    }
    if (!bar->at_ms || tokens > bar->tokens) {
        bar->tokens = tokens;
        bar->at_ms = now;
    }
}

static int terminal_width(void)
{
    struct winsize size = {0};

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
        return size.ws_col - 1;
    return 79;
}

void dt_progress_show(struct dt_progress_bar *bar, const struct dt_tree *job)
{
    const struct dt_tree *progress = dt_tree_get(job, "progress");
    int64_t step = dt_tree_int(progress, "step", -1), now = dt_clock_ms();
    bool is_terminal = dt_stderr_is_terminal();
    struct dt_buf line = {0};

    if (!progress || progress->kind != DT_TREE_MAP)
        return;
    rate_update(bar, progress);
    if (!is_terminal && (step == bar->step || now - bar->said_ms < SAY_EVERY_MS))
        return;
    dt_progress_line(&line, progress, bar->rate, is_terminal ? terminal_width() : 0);
    if (line.size && is_terminal) {
        fprintf(stderr, "\r\033[K%s", dt_buf_str(&line));
        fflush(stderr);
        bar->is_drawn = true;
    } else if (line.size) {
        dt_say("%s", dt_buf_str(&line));
        bar->said_ms = now;
    }
    bar->step = step;
    dt_buf_release(&line);
}

void dt_progress_hide(struct dt_progress_bar *bar)
{
    if (!bar->is_drawn)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    bar->is_drawn = false;
}
