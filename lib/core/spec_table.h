/* The field table of job.yaml as the files of core/spec see it; private to lib/core. */
#ifndef DT_CORE_SPEC_TABLE_H
#define DT_CORE_SPEC_TABLE_H

#include "dt/core/spec.h"

/* What a value may be; a field allows one or more. */
enum dt_spec_type {
    DT_SPEC_NULL = 1 << 0,     /* null is documented here */
    DT_SPEC_BOOL = 1 << 1,
    DT_SPEC_INT = 1 << 2,      /* least..most */
    DT_SPEC_DECIMAL = 1 << 3,  /* least..most in micro-units */
    DT_SPEC_WORD = 1 << 4,     /* one of words */
    DT_SPEC_NAME = 1 << 5,     /* [a-z0-9]([-a-z0-9]{0,61}[a-z0-9])? */
    DT_SPEC_PATH = 1 << 6,     /* absolute */
    DT_SPEC_STR = 1 << 7,      /* one line, at most `most` bytes (0: 4096) */
    DT_SPEC_BLOCK = 1 << 8,    /* text with newlines */
    DT_SPEC_NUMTEXT = 1 << 9,  /* beside STR: a plain integer stands for its text */
    DT_SPEC_DURATION = 1 << 10, /* least..most in ms */
    DT_SPEC_SIZE = 1 << 11,    /* least..most in bytes */
    DT_SPEC_INSTANT = 1 << 12,
    DT_SPEC_LIST = 1 << 13,    /* of item; least..most of them */
    DT_SPEC_DICT = 1 << 14,    /* any keys to item; at most `most` */
    DT_SPEC_MAP = 1 << 15,     /* the keys of object */
    DT_SPEC_ANY = 1 << 16      /* a map dt does not look into yet */
};

struct dt_spec_object;

/* One row of the table: everything dt knows about one field. */
struct dt_spec_field {
    const char *name;
    unsigned types;                      /* of enum dt_spec_type */
    const char *words;                   /* WORD: blank-separated closed list */
    int64_t least, most;                 /* bounds, by type; both 0 = the type's own */
    const char *unit;                    /* for help: "ranks", "ms"; NULL = none */
    const char *initial;                 /* default as YAML writes it, or NULL */
    const char *for_now;                 /* what the default resolves to until it is served */
    const char *note;                    /* the default in words where it is computed */
    const struct dt_spec_object *object; /* MAP */
    const struct dt_spec_field *item;    /* LIST, DICT */
    const char *wraps;                   /* a scalar stands for "[]" a list of it, or {wraps: it} */
    bool is_required;
    bool is_filled;                      /* MAP: its defaults are filled in when it is absent */
    const char *served;                  /* NULL: all values; else the only values (and the
                                            default) that dtserver serves today */
    unsigned unserved_types;             /* forms dtserver does not serve yet */
    size_t into;                         /* offset in struct dt_spec + 1; 0 = tree only */
    const char *help;                    /* one or more sentences */
};

/* One map of job.yaml. */
struct dt_spec_object {
    const struct dt_spec_field *fields; /* count */
    size_t count;
};

/* The top level. */
extern const struct dt_spec_object dt_spec_root;
/* The restart rules that follow the user's own, as text for explain and the manual. */
void dt_spec_rules_print(struct dt_buf *buf);

/* The row of that name (size bytes), or NULL. */
const struct dt_spec_field *dt_spec_field_find(const struct dt_spec_object *object,
                                               const char *name, size_t size);
/* Index of word in a blank-separated list, or -1. */
int dt_spec_word_index(const char *words, const char *word);
/* Append "a", "b" or "c" without quotes: "a, b or c". */
void dt_spec_words_print(struct dt_buf *buf, const char *words);
/* Append what a field takes: "an integer, auto or a map". */
void dt_spec_types_print(struct dt_buf *buf, const struct dt_spec_field *field);

/* One visited row: path such as "resources.nodes" ("[]" for list items), its depth from 0. */
typedef void dt_spec_visit(void *arg, const char *path, const struct dt_spec_field *field);
/* Visit every row, parents first, in table order. */
void dt_spec_each(dt_spec_visit *visit, void *arg);

/* A path while walking a tree; {0} is the top. Cut, never overrun. */
struct dt_spec_path {
    char text[256];
    size_t size;
};

/* Append ".key" (or "key" at the top); returns the size to go back to with dt_spec_path_cut. */
size_t dt_spec_path_key(struct dt_spec_path *path, const char *key);
/* Append "[index]". */
size_t dt_spec_path_index(struct dt_spec_path *path, size_t index);
/* Shorten to an earlier size. */
void dt_spec_path_cut(struct dt_spec_path *path, size_t size);

/*
 * Check a written map against the table and build its resolved form: rows in table order, units in
 * canonical form, plain defaults filled in. A value with an error becomes null there ("unknown"),
 * so that later rules do not judge it.
 */
struct dt_tree *dt_spec_resolve(const struct dt_tree *written, struct dt_problems *problems);

/* The problem "unknown key", with the best advice; poison is the sibling that was likely meant. */
void dt_spec_unknown_key(struct dt_problems *problems, const struct dt_spec_path *parent,
                         const struct dt_spec_object *object, const struct dt_tree *node,
                         const struct dt_spec_field **poison);

/* Explain a refused duration, size or instant: likely meanings in help. */
void dt_spec_unit_problem(struct dt_problems *problems, const char *path,
                          const struct dt_spec_field *field, const struct dt_tree *node);

/* Fill in computed defaults of launch, placement and trainer, then check rules between fields. */
void dt_spec_rules(struct dt_tree *resolved, struct dt_problems *problems);
/* Model, batch, schedule and data of the trainer; part of dt_spec_rules, after dt_spec_shape. */
void dt_spec_trainer(struct dt_tree *resolved, struct dt_problems *problems);
/* Presets and shape of trainer.model; part of dt_spec_trainer. */
void dt_spec_model(struct dt_tree *resolved, struct dt_problems *problems);
/* World and parallel degrees; part of dt_spec_rules. */
void dt_spec_shape(struct dt_tree *resolved, struct dt_problems *problems);
/* Rows of a resolved tree into the struct, restart rules completed with the built-in ones. */
void dt_spec_fill(struct dt_spec *spec, const struct dt_tree *resolved);

/* A problem at the node of that path, or at its nearest written parent. */
struct dt_problem *dt_spec_problem(struct dt_problems *problems, const struct dt_tree *resolved,
                                   const char *path, const char *code);
/* The counts of nodes a job may run on: least, most, step; false when unknown. */
bool dt_spec_nodes(const struct dt_tree *resolved, int64_t *least, int64_t *most, int64_t *step);
/* Append the divisors of number up to most: "1, 2, 4 or 8". */
void dt_spec_divisors_print(struct dt_buf *buf, int64_t number, int64_t most);
/* The node at a dotted path, or NULL when absent or unknown. */
struct dt_tree *dt_spec_at(const struct dt_tree *resolved, const char *path);
/* Its integer; false when absent, unknown or no integer. */
bool dt_spec_int_at(const struct dt_tree *resolved, const char *path, int64_t *value);
/* Put a computed default where nothing stands; a null there stays (unknown). */
void dt_spec_default_int(struct dt_tree *map, const char *key, int64_t value);
/* As dt_spec_default_int, a text. */
void dt_spec_default_str(struct dt_tree *map, const char *key, const char *value);

/* A decimal number: mantissa * 10^exponent. */
struct dt_decimal {
    int64_t mantissa;
    int exponent;
};

/* Read a number of a tree (INT or FLOAT); false past 18 digits or 10^+-30. */
DT_MUST_USE bool dt_decimal_read(const struct dt_tree *node, struct dt_decimal *value);
/* Canonical text that is also JSON: "0.0003", "1.0", "1e-8"; 48 bytes are enough. */
void dt_decimal_print(struct dt_decimal value, char *text, size_t size);
/* In millionths, rounded towards zero, cut at the ends of int64. */
int64_t dt_decimal_micro(struct dt_decimal value);
/* -1, 0 or 1. */
int dt_decimal_compare(struct dt_decimal left, struct dt_decimal right);

#endif
