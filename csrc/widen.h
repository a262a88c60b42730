// A row of L + 1 tokens in the source's dtype becomes L inputs and L targets, int64 (D0.2, D0.4).
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace fivepoint {

// From this many bytes of output on, stores go past the cache: it could not hold them, and reading them first would be wasted.
inline constexpr std::size_t kStreamFrom = std::size_t{4} << 20;

#if defined(__SSE2__)

inline void store_pair(std::int64_t* to, __m128i pair, bool stream) {
  if (stream) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), pair);
  } else {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), pair);
  }
}

inline void widen_eight(const std::uint16_t* from, std::int64_t* to, bool stream) {
  const __m128i zero = _mm_setzero_si128(), eight = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  const __m128i low = _mm_unpacklo_epi16(eight, zero), high = _mm_unpackhi_epi16(eight, zero);
  store_pair(to, _mm_unpacklo_epi32(low, zero), stream);
  store_pair(to + 2, _mm_unpackhi_epi32(low, zero), stream);
  store_pair(to + 4, _mm_unpacklo_epi32(high, zero), stream);
  store_pair(to + 6, _mm_unpackhi_epi32(high, zero), stream);
}

inline void widen_eight(const std::uint32_t* from, std::int64_t* to, bool stream) {
  const __m128i zero = _mm_setzero_si128();
  for (int half = 0; half < 2; ++half) {
    const __m128i four = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 4 * half));
    store_pair(to + 4 * half, _mm_unpacklo_epi32(four, zero), stream);
    store_pair(to + 4 * half + 2, _mm_unpackhi_epi32(four, zero), stream);
  }
}

inline void finish_stream() { _mm_sfence(); }

#else

template <typename Token>
inline void widen_eight(const Token* from, std::int64_t* to, bool) {
  for (int t = 0; t < 8; ++t) to[t] = static_cast<std::int64_t>(from[t]);
}

inline void finish_stream() {}

#endif

template <typename Token, bool kStream>
void widen_run(const Token* from, std::int64_t* to, std::size_t count) {
  std::size_t t = 0;
  // Streaming stores want 16 bytes of alignment; of int64 at most one is before it.
  if (kStream && count && reinterpret_cast<std::uintptr_t>(to) % 16) to[t++] = static_cast<std::int64_t>(from[0]);
  for (; t + 8 <= count; t += 8) widen_eight(from + t, to + t, kStream);
  for (; t < count; ++t) to[t] = static_cast<std::int64_t>(from[t]);
}

template <typename Token>
void widen_row(const Token* row, std::size_t seq_len, std::int64_t* inputs, std::int64_t* targets, bool stream) {
  if (stream) {
    widen_run<Token, true>(row, inputs, seq_len);
    widen_run<Token, true>(row + 1, targets, seq_len);
  } else {
    widen_run<Token, false>(row, inputs, seq_len);
    widen_run<Token, false>(row + 1, targets, seq_len);
  }
}

// Whether one of the tokens is above the vocabulary's last id (D0.10), in forms that compilers make vectors of: the oldest x86-64 has a
// maximum for 16 bits, and for 32 a comparison alone.
inline bool any_above(const std::uint16_t* tokens, std::size_t count, std::uint16_t last) {
  std::uint16_t largest = 0;
  for (std::size_t t = 0; t < count; ++t) largest = tokens[t] > largest ? tokens[t] : largest;
  return largest > last;
}

inline bool any_above(const std::uint32_t* tokens, std::size_t count, std::uint32_t last) {
  std::uint32_t found = 0;
  for (std::size_t t = 0; t < count; ++t) found |= static_cast<std::uint32_t>(tokens[t] > last);
  return found != 0;
}

}  // namespace fivepoint
