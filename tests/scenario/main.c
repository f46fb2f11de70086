/* dt-scenario: plays a scenario file and compares its trace with the one it expects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dt/base/units.h"
#include "sim.h"

#define FILE_BYTES_MAX (1024 * 1024)
#define AGENTS_MAX 64

static int usage(void)
{
    fprintf(stderr, "usage: dt-scenario [--trace | --update] FILE...\n"
                    "       dt-scenario [--trace] --random SEED [COUNT]\n"
                    "  plays each FILE and compares the trace with the lines below \"expect\"\n"
                    "  --trace   print the trace instead\n"
                    "  --update  write the trace into the file\n");
    return 2;
}

static char *file_read(const char *path, size_t *size)
{
    char *text = dt_alloc(FILE_BYTES_MAX + 1, 1);
    FILE *file = fopen(path, "rb");

    if (!file) {
        perror(path);
        dt_free(text);
        return NULL;
    }
    *size = fread(text, 1, FILE_BYTES_MAX, file);
    fclose(file);
    return text;
}

static int to_int(const char *text)
{
    int64_t value;

    return dt_parse_int(text, 0, 1000000, &value) ? (int)value : 0;
}

static void on_line(struct sim *sim, struct happening *self)
{
    script_do(sim, self->line);
}

/* "nodes n1 n2 slots=2 gpus=8 type=T domain=D uid=1000" */
static void add_nodes(struct sim *sim, const char *line)
{
    struct agent model = {.slots = 2, .uid = 1000, .is_machine_up = true, .is_agent_up = true,
                          .is_linked = true};
    char copy[512];
    size_t first = sim->agents_count;

    snprintf(copy, sizeof(copy), "%s", line);
    for (char *at = copy; *at;) {
        char *word = at, *value;

        at += strcspn(at, " ");
        if (*at)
            *at++ = 0;
        at += strspn(at, " ");
        value = strchr(word, '=');
        if (value)
            *value++ = 0;
        if (value && strcmp(word, "slots") == 0)
            model.slots = to_int(value);
        else if (value && strcmp(word, "gpus") == 0)
            model.gpus = to_int(value);
        else if (value && strcmp(word, "uid") == 0)
            model.uid = to_int(value);
        else if (value && strcmp(word, "type") == 0)
            snprintf(model.type, sizeof(model.type), "%s", value);
        else if (value && strcmp(word, "domain") == 0)
            snprintf(model.domain, sizeof(model.domain), "%s", value);
        else if (!value && *word && sim->agents_count < AGENTS_MAX)
            snprintf(sim->agents[sim->agents_count++].name, DT_NAME_BYTES_MAX, "%s", word);
    }
    for (size_t i = first; i < sim->agents_count; i++) {
        char name[DT_NAME_BYTES_MAX];

        memcpy(name, sim->agents[i].name, sizeof(name));
        sim->agents[i] = model;
        memcpy(sim->agents[i].name, name, sizeof(name));
        if (!model.domain[0])
            snprintf(sim->agents[i].domain, sizeof(sim->agents[i].domain), "%s", name);
    }
}

/* One line above "expect"; false when it is not understood. */
static bool setup_line(struct sim *sim, const char *line, int64_t *until_ms)
{
    char when[32] = "";
    int length = 0;
    int64_t at_ms;

    if (!*line || *line == '#')
        return true;
    if (strncmp(line, "nodes ", 6) == 0) {
        add_nodes(sim, line + 6);
        return true;
    }
    if (strncmp(line, "until ", 6) == 0)
        return dt_parse_duration_ms(line + 6, until_ms, NULL) == DT_OK;
    if (sscanf(line, "at %31s %n", when, &length) != 1 || !length ||
        dt_parse_duration_ms(when, &at_ms, NULL))
        return false;
    sim_plan(sim, at_ms, (struct happening){.run = on_line, .line = dt_copy_text(line + length)});
    return true;
}

/* Read the script; *expected points at the trace below "expect", or is "". */
static bool setup(struct sim *sim, char *text, const char *path, int64_t *until_ms,
                  const char **expected)
{
    int number = 0;

    *expected = "";
    sim->agents = dt_alloc(AGENTS_MAX, sizeof(*sim->agents));
    while (*text) {
        char *line = text;
        size_t length = strcspn(text, "\n");

        number++;
        text += length + (text[length] != 0);
        line[length] = 0;
        if (strcmp(line, "expect") == 0) {
            *expected = text;
            return true;
        }
        if (!setup_line(sim, line, until_ms)) {
            fprintf(stderr, "%s:%d: not understood: %s\n", path, number, line);
            return false;
        }
    }
    return true;
}

/* Say where two traces part; true when they do not. */
static bool is_same(const char *path, const char *got, const char *expected)
{
    int line = 1;
    size_t begin = 0, i = 0;

    if (strcmp(got, expected) == 0)
        return true;
    for (; got[i] && got[i] == expected[i]; i++)
        if (got[i] == '\n') {
            line++;
            begin = i + 1;
        }
    printf("%s: trace line %d\n  got      %.*s\n  expected %.*s\n", path, line,
           (int)strcspn(got + begin, "\n"), got + begin, (int)strcspn(expected + begin, "\n"),
           expected + begin);
    return false;
}

static int update(const char *path, const char *trace)
{
    size_t size = 0;
    char *text = file_read(path, &size), *end;
    FILE *file;

    if (!text)
        return 1;
    end = strstr(text, "\nexpect\n");
    file = fopen(path, "wb");
    if (file) {
        fprintf(file, "%.*s\nexpect\n%s", end ? (int)(end - text) : (int)strlen(text), text,
                trace);
        fclose(file);
    }
    dt_free(text);
    return file ? 0 : 1;
}

/* One scenario by chance; the trace of a failing one goes to standard output. */
static int play_chance(uint64_t seed, bool is_shown)
{
    struct sim sim = {0};
    int status;

    sim.agents = dt_alloc(AGENTS_MAX, sizeof(*sim.agents));
    chance_plan(&sim, seed);
    sim_controller_start(&sim);
    for (size_t i = 0; i < sim.agents_count; i++)
        agent_beats(&sim, &sim.agents[i]);
    sim_run(&sim, 420000);
    sim_compare_stored(&sim);
    chance_check(&sim);
    status = sim.failures != 0;
    if (status || is_shown)
        fputs(dt_buf_str(&sim.trace), stdout);
    if (status)
        printf("seed %llu: %zu checks failed; again: dt-scenario --random %llu\n",
               (unsigned long long)seed, sim.failures, (unsigned long long)seed);
    sim_release(&sim);
    return status;
}

/* Seeds first .. first + count - 1. */
static int play_random(const char *first_text, const char *count_text, bool is_shown)
{
    uint64_t first, count = 1;
    int failed = 0;

    if (!dt_parse_u64(first_text, UINT64_MAX - 1000000, &first) ||
        (count_text && !dt_parse_u64(count_text, 1000000, &count)))
        return usage();
    for (uint64_t i = 0; i < count && failed < 3; i++)
        failed += play_chance(first + i, is_shown);
    printf("%d passed, %d failed, 0 skipped\n", (int)count - failed, failed);
    return failed != 0;
}

static int play(const char *path, char mode)
{
    struct sim sim = {0};
    int64_t until_ms = 60000;
    const char *expected;
    size_t size = 0;
    char *text = file_read(path, &size);
    int status = 1;

    if (!text)
        return 1;
    if (!setup(&sim, text, path, &until_ms, &expected))
        goto out;
    sim_controller_start(&sim);
    for (size_t i = 0; i < sim.agents_count; i++)
        agent_beats(&sim, &sim.agents[i]);
    sim_run(&sim, until_ms);
    sim_compare_stored(&sim);
    if (mode == 't')
        fputs(dt_buf_str(&sim.trace), stdout);
    if (mode == 'u')
        status = update(path, dt_buf_str(&sim.trace));
    else
        status = mode == 't' ? 0 : !is_same(path, dt_buf_str(&sim.trace), expected);
    if (sim.failures) {
        printf("%s: %zu checks failed, see --trace\n", path, sim.failures);
        status = 1;
    }
out:
    sim_release(&sim);
    dt_free(text);
    return status;
}

int main(int argc, char **argv)
{
    int failed = 0, played = 0;
    char mode = 'c';

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--trace") == 0) {
            mode = 't';
        } else if (strcmp(argv[i], "--update") == 0) {
            mode = 'u';
        } else if (strcmp(argv[i], "--random") == 0 && i + 1 < argc) {
            return play_random(argv[i + 1], i + 2 < argc ? argv[i + 2] : NULL, mode == 't');
        } else if (argv[i][0] == '-') {
            return usage();
        } else {
            failed += play(argv[i], mode) != 0;
            played++;
        }
    }
    if (!played)
        return usage();
    if (mode != 't')
        printf("%d passed, %d failed, 0 skipped\n", played - failed, failed);
    return failed ? 1 : 0;
}
