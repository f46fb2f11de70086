/* Bodies of submits: what is said of the wrong ones, and what the right ones hold. */
#include "submit_body.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

#define SPEC "\"spec\":{\"version\":1,\"name\":\"a\",\"launch\":\"none\",\"command\":[\"true\"]}"

TEST(submit_body__takes_defaults_and_all_members)
{
    static const char least[] = "{" SPEC "}";
    static const char whole[] = "{" SPEC ",\"count\":3,\"submit_dir\":\"/home\",\"dry_run\":true,"
                                "\"source\":\"name: a\"}";
    struct dt_problems problems = {0};
    struct submit_body body = {0};

    CHECK_INT(submit_body_read(least, strlen(least), &body, &problems, NULL), DT_OK);
    CHECK_INT(body.count, 1);
    CHECK_TEXT(body.submit_dir, "/");
    CHECK_TEXT(body.source, NULL);
    CHECK(!body.is_dry_run);
    CHECK_TEXT(body.spec.name, "a");
    submit_body_release(&body);
    CHECK_INT(submit_body_read(whole, strlen(whole), &body, &problems, NULL), DT_OK);
    CHECK_INT(body.count, 3);
    CHECK_TEXT(body.submit_dir, "/home");
    CHECK_TEXT(body.source, "name: a");
    CHECK(body.is_dry_run);
    submit_body_release(&body);
    dt_problems_release(&problems);
}

TEST(submit_body__says_which_member_is_wrong)
{
    static const struct {
        const char *body;
        enum dt_code code;
        const char *text;
    } rows[] = {
        {"", DT_USAGE, "JSON"},
        {"[]", DT_USAGE, "object"},
        {"{}", DT_USAGE, "spec: expected"},
        {"{\"spec\":7}", DT_USAGE, "spec: expected"},
        {"{" SPEC ",\"count\":\"7\"}", DT_USAGE, "count: expected"},
        {"{" SPEC ",\"count\":7.5}", DT_USAGE, "count: expected"},
        {"{" SPEC ",\"count\":0}", DT_USAGE, "count: expected"},
        {"{" SPEC ",\"count\":1001}", DT_USAGE, "count: expected"},
        {"{" SPEC ",\"submit_dir\":\"here\"}", DT_USAGE, "submit_dir: expected"},
        {"{" SPEC ",\"submit_dir\":5}", DT_USAGE, "submit_dir: expected"},
        {"{" SPEC ",\"dry_run\":\"yes\"}", DT_USAGE, "dry_run: expected"},
        {"{" SPEC ",\"if_possible\":1}", DT_USAGE, "if_possible: expected"},
        {"{" SPEC ",\"if_possible\":true,\"count\":2}", DT_USAGE, "goes with one job"},
        {"{\"spec\":{}}", DT_INVALID, "not valid"},
    };

    for (size_t i = 0; i < DT_COUNT(rows); i++) {
        struct dt_problems problems = {0};
        struct submit_body body = {0};
        struct dt_err err = {0};

        if (!CHECK_INT(submit_body_read(rows[i].body, strlen(rows[i].body), &body, &problems, &err),
                       rows[i].code) ||
            !CHECK(strstr(err.text, rows[i].text) != NULL))
            printf("  %s: %s\n", rows[i].body, err.text);
        CHECK_INT(problems.count > 0, rows[i].code == DT_INVALID);
        submit_body_release(&body);
        dt_problems_release(&problems);
    }
}
