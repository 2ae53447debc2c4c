// From the attributes of tokens to their emissions, and from marginals back to the gradient: the two ends of training a
// feature CRF. Included by kernels.cpp.
//
// emit:   e_t = Σ over the attributes a of token t of v_a · w_a        (w_a a row of labels, or a few cells)
// absorb: g_a += v_a · p_t for each of them
//
// Both are bound by the memory that rows and cells come from, so those of the tokens ahead are fetched early.

// Vectors narrower than the widest pay where there are few labels: a row then is one of them.
template <class Real, int kWidth>
struct Narrow {
    static constexpr int kBytes = kWidth * int(sizeof(Real));
    typedef Real Vec TAGLINE_LOOSE_VECTOR(kBytes, (kBytes < 64 ? kBytes : 64));
    typedef typename Lanes<Real>::Index Index;
    typedef Index Bits TAGLINE_VECTOR(kBytes);
};

// The first `count` labels of a vector to and from the caller's row; 0 past them.
template <class Real, int kWidth>
inline void store_labels(Real* row, typename Narrow<Real, kWidth>::Vec v, int64_t count) {
#if defined(TAGLINE_WIDE_64)
    if constexpr (sizeof(Real) == 4 && kWidth == 8)
        return _mm256_mask_storeu_ps(row, count >= 8 ? __mmask8(0xff) : __mmask8((1u << count) - 1), (__m256)v);
    if constexpr (sizeof(Real) == 4 && kWidth == 16)
        return _mm512_mask_storeu_ps(row, count >= 16 ? __mmask16(0xffff) : __mmask16((1u << count) - 1), (__m512)v);
#endif
    if (count >= kWidth) {
        __builtin_memcpy(row, &v, sizeof v);
        return;
    }
    for (int64_t k = 0; k < count; ++k) row[k] = v[k];
}

template <class Real, int kWidth>
inline typename Narrow<Real, kWidth>::Vec load_labels(const Real* row, int64_t count) {
    typedef typename Narrow<Real, kWidth>::Vec V;
#if defined(TAGLINE_WIDE_64)
    if constexpr (sizeof(Real) == 4 && kWidth == 8)
        return (V)_mm256_maskz_loadu_ps(count >= 8 ? __mmask8(0xff) : __mmask8((1u << count) - 1), row);
    if constexpr (sizeof(Real) == 4 && kWidth == 16)
        return (V)_mm512_maskz_loadu_ps(count >= 16 ? __mmask16(0xffff) : __mmask16((1u << count) - 1), row);
#endif
    V v{};
    if (count >= kWidth) {
        __builtin_memcpy(&v, row, sizeof v);
        return v;
    }
    for (int64_t k = 0; k < count; ++k) v[k] = row[k];
    return v;
}

constexpr int64_t kAhead = 48;  // occurrences; 24 and 96 are slower by 3 % of an evaluation (CoNLL-2000)

template <class Real>
inline void fetch_row(const Real* row, int64_t stride) {
    for (int64_t byte = 0; byte < stride * int64_t(sizeof(Real)) && byte < 256; byte += 64)
        __builtin_prefetch(reinterpret_cast<const char*>(row) + byte);
}

template <int kLabels, class Real>
inline void fetch(const Real* row) {
    constexpr int kBytes = kLabels * int(sizeof(Real));
    for (int byte = 0; byte < kBytes; byte += 64) __builtin_prefetch(reinterpret_cast<const char*>(row) + byte);
}

// kVectors vectors of kWidth labels from label `from` on. What tables and occurrences point to is kept in variables of
// the function: writing a vector may change any memory, as far as the compiler knows.
template <class Real, int kWidth, int kVectors, bool kValues>
inline void emit_part(const WeightTable<Real>& weights, const Occurrences& tokens, int64_t first, int64_t last,
                      Real scale, bool add, Real* out, int64_t from) {
    typedef typename Narrow<Real, kWidth>::Vec V;
    const int64_t L = weights.L, stride = weights.stride, end = tokens.row_offsets[last];
    const int64_t* const offsets = tokens.row_offsets;
    const uint32_t* const rows = tokens.rows;
    const Real* const table = weights.rows + from;
    for (int64_t n = first, k = offsets[first]; n < last; ++n) {
        V sum[kVectors] = {};
        for (const int64_t behind = offsets[n + 1]; k < behind; ++k) {
            if (k + kAhead < end) fetch<kWidth * kVectors>(table + int64_t(rows[k + kAhead]) * stride);
            const V* row = reinterpret_cast<const V*>(table + int64_t(rows[k]) * stride);
            for (int v = 0; v < kVectors; ++v) {
                if constexpr (kValues)
                    sum[v] += row[v] * Real(tokens.row_values[k]);
                else
                    sum[v] += row[v];
            }
        }
        for (int v = 0; v < kVectors && from + v * kWidth < L; ++v) {
            Real* to = out + (n - first) * L + from + v * kWidth;
            const int64_t count = L - from - v * kWidth;
            V total = sum[v] * scale;
            if (add) total += load_labels<Real, kWidth>(to, count);
            store_labels<Real, kWidth>(to, total, count);
        }
    }
}

// With masks, labels without a weight stay as they are.
template <class Real, int kWidth, int kVectors, bool kValues, bool kMasked>
inline void absorb_part(const WeightTable<Real>& sums, const Occurrences& tokens, int64_t first, int64_t last,
                        Real factor, const Real* nodes, int64_t from) {
    typedef typename Narrow<Real, kWidth>::Vec V;
    typedef typename Narrow<Real, kWidth>::Bits Bits;
    const int64_t L = sums.L, stride = sums.stride, end = tokens.row_offsets[last];
    const int64_t words = (stride + 63) / 64;
    const int64_t* const offsets = tokens.row_offsets;
    const uint32_t* const rows = tokens.rows;
    const float* const values = tokens.row_values;
    const uint64_t* const masks = sums.masks;
    Real* const table = sums.rows + from;
    Bits lane_bit;
    for (int k = 0; k < kWidth; ++k) lane_bit[k] = typename Narrow<Real, kWidth>::Index(1) << k;
    for (int64_t n = first, k = offsets[first]; n < last; ++n) {
        V node[kVectors] = {};
        for (int v = 0; v < kVectors && from + v * kWidth < L; ++v)
            node[v] = factor * load_labels<Real, kWidth>(nodes + (n - first) * L + from + v * kWidth,
                                                         L - from - v * kWidth);
        for (const int64_t behind = offsets[n + 1]; k < behind; ++k) {
            if (k + kAhead < end) fetch<kWidth * kVectors>(table + int64_t(rows[k + kAhead]) * stride);
            V* row = reinterpret_cast<V*>(table + int64_t(rows[k]) * stride);
            for (int v = 0; v < kVectors; ++v) {
                V added = node[v];
                if constexpr (kValues) added *= Real(values[k]);
                if constexpr (kMasked) {  // the bits of a vector lie in one word: it begins at a multiple of its width
                    const int64_t label = from + v * kWidth;
                    const uint64_t bits = masks[int64_t(rows[k]) * words + label / 64] >> (label % 64);
                    const Bits here = Bits{} + typename Narrow<Real, kWidth>::Index(bits & 0xffff);
                    added = (V)((Bits)added & ((here & lane_bit) != 0));
                }
                row[v] += added;
            }
        }
    }
}

template <class Real, bool kValues>
inline void emit_cells(const WeightTable<Real>& weights, const Occurrences& tokens, int64_t first, int64_t last,
                       Real scale, Real* out) {
    const int64_t L = weights.L, end = tokens.cell_offsets[last];
    const int64_t* const offsets = tokens.cell_offsets;
    const uint32_t* const cells = tokens.cells;
    const WeightCell<Real>* const table = weights.cells;
    for (int64_t n = first, k = offsets[first]; n < last; ++n, out += L) {
        for (const int64_t behind = offsets[n + 1]; k < behind; ++k) {
            if (k + kAhead < end) __builtin_prefetch(table + cells[k + kAhead]);
            const WeightCell<Real>& cell = table[cells[k]];
            Real added = scale * cell.value;
            if constexpr (kValues) added *= Real(tokens.cell_values[k]);
            out[cell.label] += added;
        }
    }
}

template <class Real, bool kValues>
inline void absorb_cells(const WeightTable<Real>& sums, const Occurrences& tokens, int64_t first, int64_t last,
                         Real factor, const Real* nodes) {
    const int64_t L = sums.L, end = tokens.cell_offsets[last];
    const int64_t* const offsets = tokens.cell_offsets;
    const uint32_t* const cells = tokens.cells;
    WeightCell<Real>* const table = sums.cells;
    for (int64_t n = first, k = offsets[first]; n < last; ++n, nodes += L) {
        for (const int64_t behind = offsets[n + 1]; k < behind; ++k) {
            if (k + kAhead < end) __builtin_prefetch(table + cells[k + kAhead], 1);
            WeightCell<Real>& cell = table[cells[k]];
            Real added = factor * nodes[cell.label];
            if constexpr (kValues) added *= Real(tokens.cell_values[k]);
            cell.value += added;
        }
    }
}

// Call part<width, vectors>(first label) until all labels of a row are done.
template <class Part>
inline void for_parts(int64_t stride, const Part& part) {
    if (stride == 4) return part.template operator()<4, 1>(0);
    if (stride % 16 != 0) {
        int64_t from = 0;
        for (; from + 24 <= stride; from += 24) part.template operator()<8, 3>(from);
        if (stride - from == 16) part.template operator()<8, 2>(from);
        if (stride - from == 8) part.template operator()<8, 1>(from);
        return;
    }
    int64_t from = 0;
    for (; from + 64 <= stride; from += 64) part.template operator()<16, 4>(from);
    if (stride - from == 48) part.template operator()<16, 3>(from);
    if (stride - from == 32) part.template operator()<16, 2>(from);
    if (stride - from == 16) part.template operator()<16, 1>(from);
}

// The first rows and cells of a sentence: nobody before it fetched them.
template <class Real>
inline void fetch_first(const WeightTable<Real>& table, const Occurrences& tokens, int64_t first, int64_t last) {
    const int64_t row = tokens.row_offsets[first], rows = tokens.row_offsets[last];
    for (int64_t k = row; k < rows && k < row + kAhead; ++k)
        fetch_row(table.rows + int64_t(tokens.rows[k]) * table.stride, table.stride);
    const int64_t cell = tokens.cell_offsets[first], cells = tokens.cell_offsets[last];
    for (int64_t k = cell; k < cells && k < cell + kAhead; ++k) __builtin_prefetch(table.cells + tokens.cells[k]);
}

template <class Real>
void emit(const WeightTable<Real>& weights, const Occurrences& tokens, int64_t first, int64_t last, Real scale,
          bool add, Real* out) {
    fetch_first(weights, tokens, first, last);
    for_parts(weights.stride, [&]<int kWidth, int kVectors>(int64_t from) {
        if (tokens.row_values)
            emit_part<Real, kWidth, kVectors, true>(weights, tokens, first, last, scale, add, out, from);
        else
            emit_part<Real, kWidth, kVectors, false>(weights, tokens, first, last, scale, add, out, from);
    });
    if (tokens.cell_values)
        emit_cells<Real, true>(weights, tokens, first, last, scale, out);
    else
        emit_cells<Real, false>(weights, tokens, first, last, scale, out);
}

template <class Real>
void absorb(const WeightTable<Real>& sums, const Occurrences& tokens, int64_t first, int64_t last, Real factor,
            const Real* nodes) {
    fetch_first(sums, tokens, first, last);
    for_parts(sums.stride, [&]<int kWidth, int kVectors>(int64_t from) {
        if (sums.masks && tokens.row_values)
            absorb_part<Real, kWidth, kVectors, true, true>(sums, tokens, first, last, factor, nodes, from);
        else if (sums.masks)
            absorb_part<Real, kWidth, kVectors, false, true>(sums, tokens, first, last, factor, nodes, from);
        else if (tokens.row_values)
            absorb_part<Real, kWidth, kVectors, true, false>(sums, tokens, first, last, factor, nodes, from);
        else
            absorb_part<Real, kWidth, kVectors, false, false>(sums, tokens, first, last, factor, nodes, from);
    });
    if (tokens.cell_values)
        absorb_cells<Real, true>(sums, tokens, first, last, factor, nodes);
    else
        absorb_cells<Real, false>(sums, tokens, first, last, factor, nodes);
}
