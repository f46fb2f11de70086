/* YAML events (libyaml) to a tree with places. */
#include "yaml_in.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "yaml_source.h"

/* One open list or map. */
struct frame {
    struct dt_tree *node;
    char *key;                       /* MAP: the key whose value comes next, owned */
    struct dt_place_in_file key_at;
    bool is_dropped;                 /* the value of a refused key */
    bool is_flow;
};

struct reader {
    yaml_parser_t parser;
    struct dt_yaml_source source;
    struct dt_problems *problems;
    struct frame stack[DT_TREE_DEPTH_MAX];
    size_t depth;
    size_t nodes;
    struct dt_tree *root;
    struct dt_place_in_file last_quoted; /* the last scalar, when quoted and over many lines */
    bool is_fatal;
    bool has_document;
};

static struct dt_place_in_file place(const struct reader *reader, yaml_mark_t from,
                                     yaml_mark_t to)
{
    struct dt_place_in_file at = {(int)from.line + 1, (int)from.column + 1, 0};

    at.end_col = to.line == from.line && to.column > from.column
                     ? (int)to.column + 1
                     : dt_yaml_source_end_col(&reader->source, at.line, at.col);
    return at;
}

static struct dt_problem *refuse(struct reader *reader, struct dt_place_in_file at,
                                 const char *code)
{
    return dt_problem_add(reader->problems, "", code, at);
}

static struct dt_problem *refuse_fatal(struct reader *reader, struct dt_place_in_file at,
                                       const char *code, const char *text)
{
    struct dt_problem *problem = refuse(reader, at, code);

    reader->is_fatal = true;
    dt_problem_text(problem, "%s", text);
    return problem;
}

/* An anchor or tag in front of a node. */
static void refuse_properties(struct reader *reader, struct dt_place_in_file at,
                              const yaml_char_t *anchor, const yaml_char_t *tag)
{
    struct dt_problem *problem;

    if (anchor) {
        problem = refuse(reader, at, "yaml.anchor");
        dt_problem_text(problem, "anchors are not supported: &%.60s", (const char *)anchor);
        dt_problem_help(problem, "write the value where it is needed");
    }
    if (tag) {
        problem = refuse(reader, at, "yaml.tag");
        dt_problem_text(problem, "tags are not supported");
        dt_problem_help(problem, "leave it out, or put a text that begins with ! in quotes");
    }
}

static struct frame *top(struct reader *reader)
{
    return reader->depth ? &reader->stack[reader->depth - 1] : NULL;
}

/* Hang a value below the open list or map (or make it the root). Takes node. */
static void attach(struct reader *reader, struct dt_tree *take)
{
    struct frame *frame = top(reader);

    if (!frame) {
        reader->root = take;
    } else if (frame->node->kind == DT_TREE_LIST) {
        dt_tree_add(frame->node, NULL, take);
    } else {
        take->key_at = frame->key_at;
        if (frame->is_dropped)
            dt_tree_free(take);
        else
            dt_tree_add(frame->node, frame->key, take);
        dt_free(frame->key);
        frame->key = NULL;
    }
}

static bool is_key_expected(struct reader *reader)
{
    struct frame *frame = top(reader);

    return frame && frame->node->kind == DT_TREE_MAP && !frame->key;
}

static void on_key(struct reader *reader, const char *text, size_t size,
                   struct dt_place_in_file at)
{
    struct frame *frame = top(reader);
    const struct dt_tree *earlier;
    struct dt_problem *problem;

    frame->key = dt_copy_bytes(text, size);
    frame->key_at = at;
    frame->is_dropped = false;
    if (strcmp(frame->key, "<<") == 0) {
        problem = refuse(reader, at, "yaml.merge");
        dt_problem_text(problem, "merge keys are not supported");
        dt_problem_help(problem, "write the values where they are needed");
        frame->is_dropped = true;
    } else if ((earlier = dt_tree_get(frame->node, frame->key))) {
        problem = refuse(reader, at, "yaml.duplicate-key");
        dt_problem_text(problem, "\"%.60s\" is here twice, first in line %d", frame->key,
                        earlier->key_at.line);
        dt_problem_help(problem, "keep one of the two");
        frame->is_dropped = true;
    }
}

/* One more value; false past the bound. */
static bool is_counted(struct reader *reader, struct dt_place_in_file at)
{
    char text[80];

    if (++reader->nodes <= DT_TREE_NODES_MAX)
        return true;
    snprintf(text, sizeof(text), "more than %d values", DT_TREE_NODES_MAX);
    refuse_fatal(reader, at, "yaml.nodes", text);
    return false;
}

/* Tabs before the first word of a line. */
static void check_tab(struct reader *reader, struct dt_place_in_file at)
{
    int col = dt_yaml_source_tab(&reader->source, at.line, at.col);

    if (col && !reader->is_fatal)
        dt_problem_help(refuse_fatal(reader, (struct dt_place_in_file){at.line, col, col + 1},
                                     "yaml.tab", "a tab in the indentation"),
                        "indent with spaces");
}

static void on_scalar(struct reader *reader, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t size = event->data.scalar.length;
    bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    struct dt_place_in_file at = place(reader, event->start_mark, event->end_mark);
    struct dt_tree *node;

    reader->last_quoted = (struct dt_place_in_file){0};
    if ((event->data.scalar.style == YAML_SINGLE_QUOTED_SCALAR_STYLE ||
         event->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE) &&
        event->end_mark.line > event->start_mark.line)
        reader->last_quoted = at;
    check_tab(reader, at);
    refuse_properties(reader, at, event->data.scalar.anchor, event->data.scalar.tag);
    if (!is_counted(reader, at))
        return;
    if (memchr(text, 0, size)) {
        refuse_fatal(reader, at, "yaml.control-character", "a NUL character in a text");
        return;
    }
    if (is_key_expected(reader)) {
        on_key(reader, text, size, at);
        return;
    }
    node = dt_tree_make(DT_TREE_STR);
    node->text = dt_copy_bytes(text, size);
    node->text_size = size;
    node->at = at;
    node->is_quoted = !is_plain;
    if (is_plain)
        dt_tree_type_plain(node);
    attach(reader, node);
}

static void on_open(struct reader *reader, const yaml_event_t *event, enum dt_tree_kind kind)
{
    bool is_list = kind == DT_TREE_LIST;
    struct dt_place_in_file at = place(reader, event->start_mark, event->end_mark);
    struct dt_tree *node;
    char text[80];

    check_tab(reader, at);
    refuse_properties(reader, at,
                      is_list ? event->data.sequence_start.anchor
                              : event->data.mapping_start.anchor,
                      is_list ? event->data.sequence_start.tag : event->data.mapping_start.tag);
    if (!is_counted(reader, at))
        return;
    if (is_key_expected(reader)) {
        refuse_fatal(reader, at, "yaml.key", "a list or map cannot be a key");
        return;
    }
    if (reader->depth == DT_TREE_DEPTH_MAX) {
        snprintf(text, sizeof(text), "nested deeper than %d levels", DT_TREE_DEPTH_MAX);
        refuse_fatal(reader, at, "yaml.depth", text);
        return;
    }
    node = dt_tree_make(kind);
    at.end_col = dt_yaml_source_end_col(&reader->source, at.line, at.col);
    node->at = at;
    reader->stack[reader->depth++] = (struct frame){
        .node = node,
        .is_flow = is_list ? event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE
                           : event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE};
}

static void on_close(struct reader *reader, const yaml_event_t *event)
{
    struct frame *frame = top(reader);
    struct dt_tree *node;

    if (!frame)
        return; /* libyaml never closes what it did not open */
    node = frame->node;
    if (frame->is_flow && (int)event->end_mark.line + 1 == node->at.line)
        node->at.end_col = (int)event->end_mark.column + 1;
    dt_free(frame->key);
    reader->depth--;
    attach(reader, node);
}

static void on_event(struct reader *reader, const yaml_event_t *event)
{
    struct dt_place_in_file at = place(reader, event->start_mark, event->end_mark);
    struct dt_problem *problem;

    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (reader->has_document)
            refuse_fatal(reader, at, "yaml.documents", "a second document; one is taken");
        reader->has_document = true;
        break;
    case YAML_ALIAS_EVENT:
        reader->is_fatal = true;
        problem = refuse(reader, at, "yaml.alias");
        dt_problem_text(problem, "aliases are not supported: *%.60s",
                        (const char *)event->data.alias.anchor);
        dt_problem_help(problem, "write the value here, or put a text in quotes: \"*%.60s\"",
                        (const char *)event->data.alias.anchor);
        break;
    case YAML_SCALAR_EVENT:
        on_scalar(reader, event);
        break;
    case YAML_SEQUENCE_START_EVENT:
        on_open(reader, event, DT_TREE_LIST);
        break;
    case YAML_MAPPING_START_EVENT:
        on_open(reader, event, DT_TREE_MAP);
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        on_close(reader, event);
        break;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
}

/* What libyaml stumbled over, handed to the file that knows the commonest reasons. */
static void refuse_syntax(struct reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    struct dt_yaml_stumble stumble = {
        .problem = parser->problem ? parser->problem : "not readable",
        .context = parser->context ? parser->context : "",
        .line = (int)parser->problem_mark.line + 1,
        .col = (int)parser->problem_mark.column + 1,
        .context_line = (int)parser->context_mark.line + 1,
        .context_col = (int)parser->context_mark.column + 1,
        .last_quoted = reader->last_quoted,
    };

    for (size_t i = reader->depth; i-- > 0 && !stumble.flow.line;)
        if (reader->stack[i].is_flow)
            stumble.flow = reader->stack[i].node->at;
    if (parser->error == YAML_READER_ERROR)
        dt_yaml_source_place(&reader->source,
                             parser->problem_offset + reader->source.line_at[0], &stumble.line,
                             &stumble.col);
    reader->is_fatal = true;
    dt_yaml_source_explain(&reader->source, &stumble, reader->problems);
}

static void read_events(struct reader *reader)
{
    bool is_over = false;
    yaml_event_t event;

    /* behind the byte order mark, which libyaml would count as a column */
    yaml_parser_set_encoding(&reader->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader->parser,
                                 (const unsigned char *)reader->source.bytes +
                                     reader->source.line_at[0],
                                 reader->source.size - reader->source.line_at[0]);
    while (!is_over && !reader->is_fatal) {
        if (!yaml_parser_parse(&reader->parser, &event)) {
            refuse_syntax(reader);
            return;
        }
        is_over = event.type == YAML_STREAM_END_EVENT;
        on_event(reader, &event);
        yaml_event_delete(&event);
    }
}

enum dt_code dt_yaml_parse(const char *bytes, size_t size, struct dt_tree **tree,
                           struct dt_problems *problems)
{
    struct reader reader = {.problems = problems};
    size_t errors = problems->errors;

    *tree = NULL;
    if (!dt_yaml_source_open(&reader.source, bytes, size, problems))
        goto out;
    if (!yaml_parser_initialize(&reader.parser)) {
        refuse_fatal(&reader, (struct dt_place_in_file){0}, "yaml.syntax", "out of memory");
        goto out;
    }
    read_events(&reader);
    yaml_parser_delete(&reader.parser);
    while (reader.depth) {
        struct frame *frame = top(&reader);

        dt_tree_free(frame->node);
        dt_free(frame->key);
        reader.depth--;
    }
    if (!reader.is_fatal && !reader.root)
        refuse_fatal(&reader, (struct dt_place_in_file){1, 1, 1}, "yaml.empty",
                     "the file has no content");
    if (reader.is_fatal)
        dt_tree_free(reader.root);
    else
        *tree = reader.root;
out:
    dt_yaml_source_release(&reader.source);
    return problems->errors == errors ? DT_OK : DT_INVALID;
}
