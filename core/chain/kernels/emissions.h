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
#elif defined(TAGLINE_WIDE_32)
    if constexpr (sizeof(Real) == 4 && kWidth == 8) {  // number by number, the vector would wait for them all
        typename Lanes<float>::Count lane;
        for (int k = 0; k < 8; ++k) lane[k] = k;
        if (count < 8)
            return (V)_mm256_maskload_ps(row, (__m256i)(lane < typename Lanes<float>::Count{} + int32_t(count)));
    }
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

// With AVX-512 rows are added in blocks, which ask once whether there is more to fetch; AVX2 is slower by it (6 %).
#if defined(TAGLINE_WIDE_64)
constexpr int kBlock = 4;
#else
constexpr int kBlock = 1;
#endif

// Call visit(k) for occurrences begin … behind − 1 of one token, and fetch(k) for those that lie ahead, before `end`.
template <class Visit, class Fetch>
TAGLINE_INLINED inline int64_t visit_token(int64_t begin, int64_t behind, int64_t end, const Visit& visit,
                                           const Fetch& fetch) {
    int64_t k = begin;
    for (; k + kBlock <= behind; k += kBlock) {
        if (k + kAhead + kBlock <= end) repeat<kBlock>([&]<int u>() TAGLINE_INLINED { fetch(k + kAhead + u); });
        repeat<kBlock>([&]<int u>() TAGLINE_INLINED { visit(k + u); });
    }
    for (; k < behind; ++k) {
        if (k + kAhead < end) fetch(k + kAhead);
        visit(k);
    }
    return k;
}

// A cell is added to the vectors of a row that fits registers: adding it in memory waits for the cell before it, most
// often of the same label. Where vectors hold fewer than 8 labels there are too many of them for that.
template <class Real>
#if defined(TAGLINE_WIDE_64)
constexpr int64_t kMostInRegisters = 24;  // labels
#elif defined(TAGLINE_WIDE_32)
constexpr int64_t kMostInRegisters = sizeof(Real) == 4 ? 24 : 0;
#else
constexpr int64_t kMostInRegisters = 0;
#endif

// Adds a number to one label of vectors, of the v-th to be told. AVX-512 compares the numbers of labels; others read bits
// from a row with ones at one place, beginning where that place falls on the label.
template <class Real, int kWidth, int kVectors>
struct OneLabel {
    typedef typename Narrow<Real, kWidth>::Vec V;
    typedef typename Narrow<Real, kWidth>::Bits Bits;
    typedef typename Narrow<Real, kWidth>::Index Index;
    typedef Index LooseBits TAGLINE_LOOSE_VECTOR(kWidth * int(sizeof(Index)), int(sizeof(Index)));
    static constexpr int kLabels = kWidth * kVectors;
#if defined(TAGLINE_WIDE_64)
    Bits numbers[kVectors];
    OneLabel() {
        for (int k = 0; k < kLabels; ++k) numbers[k / kWidth][k % kWidth] = Index(k);
    }
    V add(V sum, int v, int32_t label, Real value) const {
        return numbers[v] == Index(label) ? sum + (V{} + value) : sum;
    }
#else
    Index row[2 * kLabels] = {};
    OneLabel() { row[kLabels] = -1; }
    V add(V sum, int v, int32_t label, Real value) const {
        const LooseBits bits = *reinterpret_cast<const LooseBits*>(row + kLabels - label + v * kWidth);
        return sum + (V)((Bits)(V{} + value) & (Bits)bits);
    }
#endif
};

// kVectors vectors of kWidth labels from label `from` on, perhaps with the cells.
// What tables and occurrences point to is kept in variables of the function: writing a vector may change any memory, as
// far as the compiler knows.
template <class Real, int kWidth, int kVectors, bool kValues, bool kWhole>
inline void emit_part(const WeightTable<Real>& weights, const Occurrences& tokens, int64_t first, int64_t last,
                      Real scale, bool add, Real* out, int64_t from) {
    typedef typename Narrow<Real, kWidth>::Vec V;
    constexpr bool kCells = kWhole && kWidth * kVectors <= kMostInRegisters<Real>;
    const int64_t L = weights.L, stride = kWhole ? kWidth * kVectors : weights.stride;
    const int64_t end = tokens.row_offsets[last], cell_end = tokens.cell_offsets[last];
    const int64_t *const offsets = tokens.row_offsets, *const cell_offsets = tokens.cell_offsets;
    const uint32_t *const rows = tokens.rows, *const cells = tokens.cells;
    const float *const values = tokens.row_values, *const cell_values = tokens.cell_values;
    const Real* const table = weights.rows + from;
    const WeightCell<Real>* const cell_table = weights.cells;
    const OneLabel<Real, kWidth, kCells ? kVectors : 1> one;
    for (int64_t n = first, k = offsets[first], q = cell_offsets[first]; n < last; ++n) {
        V sum[kVectors] = {};
        k = visit_token(k, offsets[n + 1], end, [&](int64_t at) TAGLINE_INLINED {
            const V* row = reinterpret_cast<const V*>(table + int64_t(rows[at]) * stride);
            for (int v = 0; v < kVectors; ++v) {
                if constexpr (kValues)
                    sum[v] += row[v] * Real(values[at]);
                else
                    sum[v] += row[v];
            }
        }, [&](int64_t at) TAGLINE_INLINED { fetch<kWidth * kVectors>(table + int64_t(rows[at]) * stride); });
        if constexpr (kCells) {
            for (const int64_t behind = cell_offsets[n + 1]; q < behind; ++q) {
                if (q + kAhead < cell_end) __builtin_prefetch(cell_table + cells[q + kAhead]);
                const WeightCell<Real> cell = cell_table[cells[q]];
                const Real value = kValues ? cell.value * Real(cell_values[q]) : cell.value;
                for (int v = 0; v < kVectors; ++v) sum[v] = one.add(sum[v], v, cell.label, value);
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
template <class Real, int kWidth, int kVectors, bool kValues, bool kMasked, bool kWhole>
inline void absorb_part(const WeightTable<Real>& sums, const Occurrences& tokens, int64_t first, int64_t last,
                        Real factor, const Real* nodes, int64_t from) {
    typedef typename Narrow<Real, kWidth>::Vec V;
    typedef typename Narrow<Real, kWidth>::Bits Bits;
    const int64_t L = sums.L, stride = kWhole ? kWidth * kVectors : sums.stride, end = tokens.row_offsets[last];
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
        k = visit_token(k, offsets[n + 1], end, [&](int64_t at) TAGLINE_INLINED {
            V* row = reinterpret_cast<V*>(table + int64_t(rows[at]) * stride);
            for (int v = 0; v < kVectors; ++v) {
                V added = node[v];
                if constexpr (kValues) added *= Real(values[at]);
                if constexpr (kMasked) {  // the bits of a vector lie in one word: it begins at a multiple of its width
                    const int64_t label = from + v * kWidth;
                    const uint64_t bits = masks[int64_t(rows[at]) * words + label / 64] >> (label % 64);
                    const Bits here = Bits{} + typename Narrow<Real, kWidth>::Index(bits & 0xffff);
                    added = (V)((Bits)added & ((here & lane_bit) != 0));
                }
                row[v] += added;
            }
        }, [&](int64_t at) TAGLINE_INLINED { fetch<kWidth * kVectors>(table + int64_t(rows[at]) * stride); });
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

// Call part<width, vectors, whether that is all>(first label) until all labels of a row are done. No vector is wider than
// the processor's: compilers keep those in memory, in pieces (AVX2, 44 labels: 1.5 times as long for an evaluation).
template <class Real, class Part>
inline void for_parts(int64_t stride, const Part& part) {
    constexpr int W = Lanes<Real>::width, kLeast = W < 4 ? W : 4;
    if (W >= 4 && stride == 4) return part.template operator()<kLeast, 1, true>(0);
    if constexpr (W == 16) {
        if (stride == 8) return part.template operator()<8, 1, true>(0);
        if (stride == 24) return part.template operator()<8, 3, true>(0);
        if (stride % 16 != 0) {
            int64_t from = 0;
            for (; from + 24 <= stride; from += 24) part.template operator()<8, 3, false>(from);
            if (stride - from == 16) part.template operator()<8, 2, false>(from);
            return;
        }
    }
    if (stride == W) return part.template operator()<W, 1, true>(0);
    if (stride == 2 * W) return part.template operator()<W, 2, true>(0);
    if (stride == 3 * W) return part.template operator()<W, 3, true>(0);
    constexpr int kMost = W == 16 ? 4 : 6;  // of 8 labels or fewer, more vectors fit a row of the caches
    int64_t from = 0;
    for (; from + kMost * W <= stride; from += kMost * W) part.template operator()<W, kMost, false>(from);
    if (stride - from >= 3 * W) {
        part.template operator()<W, 3, false>(from);
        from += 3 * W;
    }
    if (stride - from >= 2 * W) {
        part.template operator()<W, 2, false>(from);
        from += 2 * W;
    }
    if (stride - from >= W) part.template operator()<W, 1, false>(from);
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
    for_parts<Real>(weights.stride, [&]<int kWidth, int kVectors, bool kWhole>(int64_t from) {
        if (tokens.row_values)
            emit_part<Real, kWidth, kVectors, true, kWhole>(weights, tokens, first, last, scale, add, out, from);
        else
            emit_part<Real, kWidth, kVectors, false, kWhole>(weights, tokens, first, last, scale, add, out, from);
    });
    if (weights.stride <= kMostInRegisters<Real>) return;
    if (tokens.cell_values)
        emit_cells<Real, true>(weights, tokens, first, last, scale, out);
    else
        emit_cells<Real, false>(weights, tokens, first, last, scale, out);
}

template <class Real>
void absorb(const WeightTable<Real>& sums, const Occurrences& tokens, int64_t first, int64_t last, Real factor,
            const Real* nodes) {
    fetch_first(sums, tokens, first, last);
    for_parts<Real>(sums.stride, [&]<int kWidth, int kVectors, bool kWhole>(int64_t from) {
        if (sums.masks && tokens.row_values)
            absorb_part<Real, kWidth, kVectors, true, true, kWhole>(sums, tokens, first, last, factor, nodes, from);
        else if (sums.masks)
            absorb_part<Real, kWidth, kVectors, false, true, kWhole>(sums, tokens, first, last, factor, nodes, from);
        else if (tokens.row_values)
            absorb_part<Real, kWidth, kVectors, true, false, kWhole>(sums, tokens, first, last, factor, nodes, from);
        else
            absorb_part<Real, kWidth, kVectors, false, false, kWhole>(sums, tokens, first, last, factor, nodes, from);
    });
    if (tokens.cell_values)
        absorb_cells<Real, true>(sums, tokens, first, last, factor, nodes);
    else
        absorb_cells<Real, false>(sums, tokens, first, last, factor, nodes);
}
