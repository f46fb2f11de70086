/* Vectors of floats as wide as the instruction set this file is built for. */
#ifndef DT_TRAINER_LANES_H
#define DT_TRAINER_LANES_H

#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX2__)
#define LANES 8
#else
#define LANES 4
#endif

typedef float lanes __attribute__((vector_size(LANES * 4)));
typedef int32_t lanes_int __attribute__((vector_size(LANES * 4)));

#define INLINE static inline __attribute__((always_inline))

INLINE lanes lanes_all(float x)
{
    return x - (lanes){0}; /* not 0 + x: keeps -0 */
}

INLINE lanes lanes_load(const float *x)
{
    lanes v;

    memcpy(&v, x, sizeof(v));
    return v;
}

INLINE void lanes_store(float *x, lanes v)
{
    memcpy(x, &v, sizeof(v));
}

/* The first count lanes; the others are 0. */
INLINE lanes lanes_load_part(const float *x, int64_t count)
{
    lanes v = {0};

    memcpy(&v, x, (size_t)count * sizeof(float));
    return v;
}

INLINE void lanes_store_part(float *x, lanes v, int64_t count)
{
    memcpy(x, &v, (size_t)count * sizeof(float));
}

INLINE lanes lanes_pick(lanes_int condition, lanes yes, lanes no)
{
    lanes_int bits = (condition & (lanes_int)yes) | (~condition & (lanes_int)no);

    return (lanes)bits;
}

INLINE lanes lanes_max(lanes x, lanes y)
{
    return lanes_pick(x > y, x, y);
}

/* Of left floats that remain at x, as many as fit; the other lanes are 0. */
INLINE lanes lanes_take(const float *x, int64_t left)
{
    return left >= LANES ? lanes_load(x) : lanes_load_part(x, left);
}

INLINE void lanes_give(float *x, lanes v, int64_t left)
{
    if (left >= LANES)
        lanes_store(x, v);
    else
        lanes_store_part(x, v, left);
}

/* Sum of the lanes, by halves. */
INLINE float lanes_sum(lanes v)
{
    float x[LANES];

    memcpy(x, &v, sizeof(v));
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++)
            x[i] += x[i + width];
    return x[0];
}

INLINE float lanes_greatest(lanes v)
{
    float x[LANES];

    memcpy(x, &v, sizeof(v));
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int i = 0; i < width; i++)
            x[i] = x[i] > x[i + width] ? x[i] : x[i + width];
    return x[0];
}

/*
 * e^x to about 1 unit in the last place: x = n ln 2 + r, a polynomial in r, then the exponent of
 * n. 0 below -87, infinity above 88.7, NaN stays NaN.
 */
INLINE lanes lanes_exp(lanes x)
{
    const lanes magic = lanes_all(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer */
    lanes low = lanes_all(-87.0f), high = lanes_all(88.72f);
    lanes y = lanes_pick(x < low, low, lanes_pick(x > high, high, x));
    lanes shifted = y * 1.44269504088896341f + magic;
    lanes n = shifted - magic, r = y - n * 0.693359375f, p, half, rest;
    lanes_int exponent;

    r = r + n * 2.12194440e-4f;
    p = lanes_all(1.9875691500e-4f);
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    /* 2^n in two factors, so that n = 128 does not overflow on the way. */
    exponent = (lanes_int)shifted - (lanes_int)magic;
    half = (lanes)(((exponent >> 1) + 127) << 23);
    rest = (lanes)(((exponent - (exponent >> 1)) + 127) << 23);
    p = p * half * rest;
    p = lanes_pick(x < low, (lanes){0}, p);
    return lanes_pick(x > high, lanes_all(__builtin_inff()), p);
}

#endif
