/* Sets by id and by name. */
#include "dt/base/set.h"

#include "test.h"

TEST(set__keeps_ids_in_order_whatever_the_order_of_arrival)
{
    static int values[100];
    struct dt_set set = {0};

    for (size_t i = 0; i < 100; i++)
        CHECK(dt_set_put(&set, (i * 37) % 100, &values[(i * 37) % 100]) == NULL);
    CHECK_INT(set.count, 100);
    for (size_t i = 0; i < 100; i++) {
        CHECK_INT(set.items[i].id, i);
        CHECK(dt_set_get(&set, i) == &values[i]);
    }
    CHECK(dt_set_put(&set, 5, &values[6]) == &values[5]);
    CHECK(dt_set_remove(&set, 5) == &values[6]);
    CHECK(dt_set_remove(&set, 5) == NULL);
    CHECK(dt_set_get(&set, 5) == NULL);
    CHECK_INT(dt_set_seek(&set, 5), 5); /* the next one, 6 */
    CHECK_INT(dt_set_seek(&set, 1000), 99);
    dt_set_release(&set);
    CHECK_INT(dt_set_seek(&set, 1), 0);
}

TEST(dict__copies_names_and_walks_them_in_order)
{
    struct dt_dict dict = {0};
    char name[] = "b";
    int one, two;

    CHECK(dt_dict_put(&dict, name, &one) == NULL);
    name[0] = 'a';
    CHECK(dt_dict_put(&dict, name, &two) == NULL);
    CHECK_TEXT(dict.items[0].name, "a");
    CHECK(dt_dict_get(&dict, "b") == &one);
    CHECK(dt_dict_put(&dict, "b", &two) == &one);
    CHECK(dt_dict_remove(&dict, "a") == &two);
    CHECK(dt_dict_get(&dict, "a") == NULL);
    CHECK_INT(dict.count, 1);
    dt_dict_release(&dict);
}
