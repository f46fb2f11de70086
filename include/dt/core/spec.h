/* The job specification: job.yaml as dt understands it, from one table. */
#ifndef DT_CORE_SPEC_H
#define DT_CORE_SPEC_H

#include "dt/base/buf.h"
#include "dt/base/tree.h"

#define DT_SPEC_BYTES_MAX (256 * 1024)
#define DT_SPEC_PROBLEMS_MAX 20
#define DT_NAME_BYTES_MAX 64 /* with NUL */
#define DT_NODES_MAX 16384
#define DT_RANKS_MAX 16384
#define DT_GPUS_PER_NODE_MAX 64
#define DT_LABELS_MAX 32

enum dt_launch_kind { DT_LAUNCH_MPI, DT_LAUNCH_TORCH, DT_LAUNCH_NONE };
enum dt_pack { DT_PACK_ANY, DT_PACK_NODE, DT_PACK_NVLINK, DT_PACK_LEAF, DT_PACK_RACK };
enum dt_control_loss { DT_CONTROL_KEEP, DT_CONTROL_STOP };

/* A list of texts, owned. */
struct dt_texts {
    char **item; /* count */
    size_t count;
};

/* What happens after a failure of one kind (job.md, restart.rules). */
struct dt_restart_rule {
    char on[16];       /* exit signal oom xid ecc node_lost hang nan timeout preempt */
    int codes[16];
    size_t codes_count; /* 0 = any code */
    char action[24];   /* restart restart-elsewhere shrink rollback fail */
    bool is_counted;   /* against restart.max */
};

/* What core and agent act on; everything else stays in the resolved tree. Owned. {0} is empty. */
struct dt_spec {
    char name[DT_NAME_BYTES_MAX];
    char project[DT_NAME_BYTES_MAX]; /* "" = the user's default */
    char queue[DT_NAME_BYTES_MAX];
    int priority;                    /* -1000..1000 */
    int nodes_min, nodes_max, nodes_step; /* equal and 1 unless elastic */
    int spares;
    int gpus_per_node;
    int ranks_per_node;
    int cpus_per_rank;         /* 0 = auto */
    int64_t memory_per_node;   /* bytes; 0 = auto */
    bool is_exclusive;
    struct dt_texts gpu_types; /* in order of preference; empty = any */
    struct dt_texts include, exclude; /* host lists, unexpanded */
    enum dt_pack pack;
    bool is_topology_required;
    int tensor, pipeline, context, expert, data; /* 1 when not said; data 0 = auto */
    bool is_trainer;           /* exactly one of trainer, command, script */
    struct dt_texts command;   /* argv */
    char *script;              /* block, or NULL */
    enum dt_launch_kind launch;
    bool is_mpi_lean;
    char *workdir;             /* absolute; NULL = the submit directory */
    struct dt_texts env;       /* "K=V" */
    struct dt_texts compat;
    char *checkpoint_dir;      /* NULL = default below output.dir */
    char *output_dir;          /* NULL = <workdir>/dt-out/<job id> */
    char *resume;              /* auto, never, or a path */
    int restart_max;
    int64_t restart_window_ms;
    int64_t backoff_initial_ms, backoff_max_ms;
    struct dt_restart_rule *rules; /* the user's, then the built-in ones; first match counts */
    size_t rules_count;
    int64_t time_ms;           /* 0 = unlimited */
    int64_t queue_time_ms;     /* 0 = unlimited */
    int64_t grace_ms;
    int64_t log_bytes;         /* per rank */
    int64_t hang_timeout_ms;   /* 0 = off */
    enum dt_control_loss control_loss;
    int64_t control_loss_stop_ms;
    struct dt_texts after;     /* "job:on", the job as written */
    int64_t begin_ms, deadline_ms; /* since 1970 UTC; 0 = none */
    struct dt_tree *resolved;  /* the whole specification with every default filled in */
};

/* One thing wrong with a specification. Texts are owned. */
struct dt_problem {
    char *path;       /* such as "resources.nodes" */
    char code[32];    /* such as "spec.unknown-key" */
    bool is_warning;
    char *text;
    char *help;       /* may be NULL */
    char *suggestion; /* replacement text, or NULL */
    struct dt_place_in_file at; /* zeros when the source has no places (JSON) */
};

/* All problems of one reading, sorted by position; {0} is empty. */
struct dt_problems {
    struct dt_problem *item; /* count <= DT_SPEC_PROBLEMS_MAX */
    size_t count;
    size_t dropped; /* more than the maximum */
    size_t errors;  /* problems that are no warnings, the dropped ones too */
    struct dt_problem spill; /* the one dropped last, so that its texts have a place; private */
};

/*
 * Read and check a specification.
 *
 * tree      borrowed; from YAML (with places) or JSON
 * spec      out on success, with every default filled in; the caller releases
 * problems  out, also on success (warnings); the caller releases
 *
 * DT_OK, or DT_INVALID with at least one error in problems. Pure: no file, no user, no cluster.
 * Fields that dtserver does not serve yet are accepted here (see dt_spec_check_served).
 */
DT_MUST_USE enum dt_code dt_spec_parse(const struct dt_tree *tree, struct dt_spec *spec,
                                       struct dt_problems *problems);

/*
 * What only a submit needs: explicitly written fields that dtserver does not serve yet become
 * problems "spec.unsupported", variables of env that are still null "spec.env-required". The
 * documented default may be written. tree has passed dt_spec_parse.
 * DT_OK, DT_UNSUPPORTED, or DT_INVALID when a variable is missing.
 */
DT_MUST_USE enum dt_code dt_spec_check_served(const struct dt_tree *tree,
                                              struct dt_problems *problems);

/* Free the contents and zero it. */
void dt_spec_release(struct dt_spec *spec);
/* Free the contents and zero it. */
void dt_problems_release(struct dt_problems *problems);

/*
 * Add a problem at its sorted place (unknown places last) and return it for the texts below;
 * borrowed until the next call. path and code are copied. Beyond the maximum the last one drops.
 */
struct dt_problem *dt_problem_add(struct dt_problems *problems, const char *path,
                                  const char *code, struct dt_place_in_file at);
/* Set the sentence, the help line or the replacement of a problem. */
void dt_problem_text(struct dt_problem *problem, const char *format, ...) DT_PRINTF(2, 3);
/* As dt_problem_text, the help line. */
void dt_problem_help(struct dt_problem *problem, const char *format, ...) DT_PRINTF(2, 3);
/* As dt_problem_text, the replacement of what stands at the place. */
void dt_problem_replace(struct dt_problem *problem, const char *text);
/* Help and replacement from the nearest of blank-separated words, else the list of them. */
void dt_problem_near(struct dt_problem *problem, const char *word, const char *words);

/*
 * The report of job.md section 3: "FILE:LINE:COL: error[code]: text", source line, caret, help.
 * source (may be NULL) is the file's text of source_size bytes.
 */
void dt_problems_report(struct dt_buf *buf, const struct dt_problems *problems, const char *file,
                        const char *source, size_t source_size);
/* The same as a JSON list {file,line,column,end_column,path,code,severity,message,suggestions};
 * the caller frees. */
struct dt_tree *dt_problems_tree(const struct dt_problems *problems, const char *file);

/* JSON Schema (draft 2020-12) of job.yaml, from the field table; the caller frees. */
struct dt_tree *dt_spec_schema(void);
/* Text of `dtctl explain PATH` ("" = the top); DT_NOT_FOUND with the nearest path in the hint. */
DT_MUST_USE enum dt_code dt_spec_explain(struct dt_buf *buf, const char *path,
                                         struct dt_err *err);
/* Manual page job.yaml(5) in roff. */
void dt_spec_man(struct dt_buf *buf);

/* Complete paths of fields that begin with prefix, one a line, for shell completion. */
void dt_spec_complete(struct dt_buf *buf, const char *prefix);

/* Give a tree without a name the stem of file ("runs/My job.yaml": "my-job"). */
void dt_spec_name_after(struct dt_tree *tree, const char *file);

/* Set "path=value" in a tree before parsing; the value is a YAML 1.2 core scalar or JSON. */
DT_MUST_USE enum dt_code dt_spec_override(struct dt_tree *tree, const char *assignment,
                                          struct dt_err *err);

/* Give a plain YAML scalar (a STR node) its kind by the 1.2 core rules. */
void dt_tree_type_plain(struct dt_tree *node);

#endif
