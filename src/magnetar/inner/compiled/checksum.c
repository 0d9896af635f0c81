/* CRC32-C: with the processor's own instruction where it has one, or else with tables.
 *
 * The instruction answers after three cycles and can begin anew in each: so x86-64 works on three
 * parts of the data at once. Each part's checksum is moved over the parts behind it by one
 * carry-less multiplication with x^n modulo the polynomial, and an instruction to reduce the product.
 */
#include "inner.h"

#define POLYNOMIAL 0x82F63B78u /* Castagnoli's, lowest bit first */

static uint32_t tables[8][256];

static uint32_t with_tables(uint32_t crc, const uint8_t *at, size_t size) {
    for (; size >= 8; at += 8, size -= 8) {
        crc ^= (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
        crc = tables[7][crc & 255] ^ tables[6][crc >> 8 & 255] ^ tables[5][crc >> 16 & 255] ^
              tables[4][crc >> 24] ^ tables[3][at[4]] ^ tables[2][at[5]] ^ tables[1][at[6]] ^
              tables[0][at[7]];
    }
    while (size--) crc = crc >> 8 ^ tables[0][(crc ^ *at++) & 255];
    return crc;
}

static uint32_t (*update)(uint32_t, const uint8_t *, size_t) = with_tables;

static void prepare_tables(void) {
    for (unsigned byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        tables[0][byte] = crc;
    }
    for (unsigned byte = 0; byte < 256; byte++)
        for (int n = 1; n < 8; n++)
            tables[n][byte] = tables[n - 1][byte] >> 8 ^ tables[0][tables[n - 1][byte] & 255];
}

static inline uint64_t word_at(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, 8);
    return word;
}

#if defined(__x86_64__) && defined(__GNUC__)

#include <cpuid.h>
#include <immintrin.h>

#if defined(__clang__) && __clang_major__ >= 14
#define WITH_INSTRUCTION __attribute__((target("crc32,sse4.2,pclmul")))
#else
#define WITH_INSTRUCTION __attribute__((target("sse4.2,pclmul")))
#endif
#define PART_WORDS_MIN 6
#define PART_WORDS_MAX 128

static uint32_t powers[2 * PART_WORDS_MAX + 1]; /* x^(64 n - 33): what moves a checksum by n words */

WITH_INSTRUCTION static inline uint64_t moved(uint64_t crc, size_t words) {
    __m128i product = _mm_clmulepi64_si128(
        _mm_cvtsi64_si128((int64_t)crc), _mm_cvtsi64_si128((int64_t)powers[words]), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

WITH_INSTRUCTION static uint32_t with_instruction(uint32_t first, const uint8_t *at, size_t size) {
    uint64_t crc = first;
    while (size >= 3 * 8 * PART_WORDS_MIN) {
        size_t words = size / 24 < PART_WORDS_MAX ? size / 24 : PART_WORDS_MAX;
        const uint8_t *second_at = at + 8 * words, *third_at = at + 16 * words;
        uint64_t second = 0, third = 0;
        for (size_t n = 0; n + 1 < words; n++) {
            crc = _mm_crc32_u64(crc, word_at(at + 8 * n));
            second = _mm_crc32_u64(second, word_at(second_at + 8 * n));
            third = _mm_crc32_u64(third, word_at(third_at + 8 * n));
        }
        size_t last = 8 * (words - 1);
        crc = _mm_crc32_u64(crc, word_at(at + last));
        second = _mm_crc32_u64(second, word_at(second_at + last));
        crc = _mm_crc32_u64(third, word_at(third_at + last) ^ moved(crc, 2 * words) ^ moved(second, words));
        at += 24 * words;
        size -= 24 * words;
    }
    for (; size >= 8; at += 8, size -= 8) crc = _mm_crc32_u64(crc, word_at(at));
    while (size--) crc = _mm_crc32_u8((uint32_t)crc, *at++);
    return (uint32_t)crc;
}

static void prepare_instruction(void) {
    const unsigned sse42_and_pclmul = 1u << 20 | 1u << 1; /* Bits of ECX. */
    unsigned eax, ebx, ecx = 0, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return;
    if ((ecx & sse42_and_pclmul) != sse42_and_pclmul) return;
    /* Lowest bit first, x^0 is the top bit and a step divides by two. */
    uint32_t power = 0x80000000u;
    for (unsigned n = 0, bits = 0; n <= 2 * PART_WORDS_MAX; n++) {
        for (; n && bits < 64 * n - 33; bits++) power = power >> 1 ^ (power & 1 ? POLYNOMIAL : 0);
        powers[n] = power;
    }
    update = with_instruction;
}

#elif defined(__aarch64__) && defined(__GNUC__)

#include <arm_acle.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif

#if defined(__ARM_FEATURE_CRC32)
#define WITH_INSTRUCTION
#else
#define WITH_INSTRUCTION __attribute__((target("+crc")))
#endif

WITH_INSTRUCTION static uint32_t with_instruction(uint32_t crc, const uint8_t *at, size_t size) {
    for (; size >= 8; at += 8, size -= 8) crc = __crc32cd(crc, word_at(at));
    while (size--) crc = __crc32cb(crc, *at++);
    return crc;
}

static void prepare_instruction(void) {
#if defined(__ARM_FEATURE_CRC32)
    update = with_instruction;
#elif defined(__linux__)
    if (getauxval(AT_HWCAP) & (1 << 7)) update = with_instruction; /* HWCAP_CRC32 */
#endif
}

#else

static void prepare_instruction(void) {}

#endif

void checksum_prepare(void) {
    prepare_tables();
    prepare_instruction();
}

uint32_t checksum_on(uint32_t seed, const uint8_t *data, size_t size) {
    return ~update(~seed, data, size);
}

uint32_t checksum_of(const uint8_t *data, size_t size) { return checksum_on(0, data, size); }
