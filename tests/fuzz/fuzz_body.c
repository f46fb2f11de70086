/* Any bytes as a submit: refused with a reason, or a specification stored and read as itself. */
#include <stdlib.h>

#include "dt/wire/record.h"
#include "submit_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_stored(const struct dt_tree *resolved)
{
    struct dt_buf sealed = {0};
    struct dt_tree *again = NULL;

    dt_record_seal(&sealed, resolved);
    if (dt_record_unseal(sealed.data, sealed.size, &again, NULL) ||
        !dt_tree_equal(resolved, again))
        abort();
    dt_tree_free(again);
    dt_buf_release(&sealed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dt_problems problems = {0};
    struct submit_body body = {0};
    struct dt_err err = {0};
    enum dt_code code =
        submit_body_read((const char *)data, size, &body, &problems, &err);

    if (code && (code != err.code || !err.text[0]))
        abort(); /* refused without a reason */
    if ((code == DT_INVALID || code == DT_UNSUPPORTED) && !problems.count)
        abort();
    if (!code && (body.count < 1 || body.submit_dir[0] != '/'))
        abort();
    if (!code)
        check_stored(body.spec.resolved);
    submit_body_release(&body);
    dt_problems_release(&problems);
    return 0;
}
