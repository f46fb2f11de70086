/* Decimal numbers without floating point: read, compare, print canonically. */
#include "spec_table.h"

#include <stdio.h>
#include <string.h>

#define EXPONENT_MOST 30

static void decimal_trim(struct dt_decimal *value)
{
    if (!value->mantissa)
        value->exponent = 0;
    while (value->mantissa && value->mantissa % 10 == 0) {
        value->mantissa /= 10;
        value->exponent++;
    }
}

/* Digits with at most one point; false when there are more than 18 significant ones. */
static bool read_digits(const char **at, struct dt_decimal *value)
{
    bool is_fraction = false;
    int digits = 0;

    for (; (**at >= '0' && **at <= '9') || (**at == '.' && !is_fraction); (*at)++) {
        if (**at == '.') {
            is_fraction = true;
            continue;
        }
        if ((value->mantissa || **at != '0') && ++digits > 18)
            return false;
        value->mantissa = value->mantissa * 10 + (**at - '0');
        value->exponent -= is_fraction;
        if (value->exponent < -2 * EXPONENT_MOST)
            return false;
    }
    return true;
}

bool dt_decimal_read(const struct dt_tree *node, struct dt_decimal *value)
{
    struct dt_decimal read = {0};
    const char *at = node->text;
    bool is_negative = false;
    int64_t exponent = 0;

    if (node->kind == DT_TREE_INT) {
        read.mantissa = node->int_value;
        decimal_trim(&read);
        *value = read;
        return read.exponent <= EXPONENT_MOST && node->int_value > -1000000000000000000 &&
               node->int_value < 1000000000000000000;
    }
    if (node->kind != DT_TREE_FLOAT || !at)
        return false;
    if (*at == '-' || *at == '+')
        is_negative = *at++ == '-';
    if (!read_digits(&at, &read))
        return false;
    if (*at == 'e' || *at == 'E') {
        at++;
        if (*at == '+')
            at++;
        while (*at == '0' && at[1])
            at++;
        if (*at == '-' && at[1] == '0' && at[2]) {
            for (at += 2; *at == '0' && at[1];)
                at++;
            if (!dt_parse_int(at, 0, 100, &exponent))
                return false;
            exponent = -exponent;
        } else if (!dt_parse_int(at, -100, 100, &exponent)) {
            return false;
        }
    } else if (*at) {
        return false;
    }
    read.exponent += (int)exponent;
    read.mantissa = is_negative ? -read.mantissa : read.mantissa;
    decimal_trim(&read);
    if (read.exponent < -EXPONENT_MOST || read.exponent > EXPONENT_MOST)
        return false;
    *value = read;
    return true;
}

void dt_decimal_print(struct dt_decimal value, char *text, size_t size)
{
    char digits[24];
    const char *sign = value.mantissa < 0 ? "-" : "";
    int count, point; /* digits before the point */

    decimal_trim(&value);
    count = snprintf(digits, sizeof(digits), "%lld",
                     (long long)(value.mantissa < 0 ? -value.mantissa : value.mantissa));
    point = count + value.exponent;
    if (point > 15 || point < -3) {
        snprintf(text, size, "%s%.1s%s%se%d", sign, digits, count > 1 ? "." : "", digits + 1,
                 point - 1);
    } else if (value.exponent >= 0) {
        snprintf(text, size, "%s%s%.*s.0", sign, digits, value.exponent, "000000000000000000");
    } else if (point > 0) {
        snprintf(text, size, "%s%.*s.%s", sign, point, digits, digits + point);
    } else {
        snprintf(text, size, "%s0.%.*s%s", sign, -point, "000", digits);
    }
}

int64_t dt_decimal_micro(struct dt_decimal value)
{
    int shift = value.exponent + 6;
    int64_t micro = value.mantissa;

    for (; shift > 0; shift--)
        if (__builtin_mul_overflow(micro, 10, &micro))
            return value.mantissa < 0 ? INT64_MIN : INT64_MAX;
    for (; shift < 0 && micro; shift++)
        micro /= 10;
    return micro;
}

int dt_decimal_compare(struct dt_decimal left, struct dt_decimal right)
{
    int least = left.exponent < right.exponent ? left.exponent : right.exponent;
    __int128 a = left.mantissa, b = right.mantissa;

    /* 18 digits shifted by up to 20 places fit 127 bits; beyond that the larger exponent wins */
    if (left.exponent - least > 20 && left.mantissa)
        return left.mantissa < 0 ? -1 : 1;
    if (right.exponent - least > 20 && right.mantissa)
        return right.mantissa < 0 ? 1 : -1;
    for (int i = least; i < left.exponent && a; i++)
        a *= 10;
    for (int i = least; i < right.exponent && b; i++)
        b *= 10;
    return a < b ? -1 : a > b;
}
