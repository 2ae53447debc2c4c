// Legal pairs column by column, for sentences abreast: products over them, in the order of pairs.h, and the labels that
// can be reached. Included by kernels.cpp.

constexpr int64_t kMostTokensAbreast = 512;  // x and α of all lanes are kept

inline bool can_go_abreast(const PairTables& pairs, int64_t T, int64_t L) {
    return go_abreast(pairs) && T <= kMostTokensAbreast && L >= 16 / int64_t(sizeof(float));
}

// Cells first … last − 1 of a column, added one after the other. visit.cell(k, lanes) sees v [rows, W] at each of them.
template <class Ring, class Real, class Visit>
TAGLINE_INLINED inline Vec<Real> sum_cells(const Real* v, const int32_t* rows, const Real* values, int64_t first,
                                           int64_t last, Visit& visit) {
    Vec<Real> total = Ring::template first<Vec<Real>>();
    for (int64_t k = first; k < last; ++k) {
        const Vec<Real> lanes = at(v, rows[k]);
        total = Ring::step(total, lanes, splat(values[k]));
        visit.cell(k, lanes);
    }
    return total;
}

// The same for a number of cells that the compiler knows.
template <class Ring, int kCells, class Real, class Visit>
TAGLINE_INLINED inline Vec<Real> sum_cells(const Real* v, const int32_t* rows, const Real* values, int64_t first,
                                           Visit& visit) {
    Vec<Real> total = Ring::template first<Vec<Real>>();
    repeat<kCells>([&]<int k>() TAGLINE_INLINED {
        const Vec<Real> lanes = at(v, rows[first + k]);
        total = Ring::step(total, lanes, splat(values[first + k]));
        visit.cell(first + k, lanes);
    });
    return total;
}

// What multiply_pairs does, for sentences abreast: visit.begin(label), visit.cell(k, lanes) for its cells and
// visit.end(label, total) are called column by column.
template <class Ring, class Real, class Visit>
TAGLINE_INLINED inline void multiply_columns(const Real* v, const PairColumns& table, const Real* values, int64_t L,
                                             Visit visit) {
    const int32_t* rows = table.rows;
    int64_t first = 0;
    for (int64_t c = 0; c < L; ++c) {
        const PairColumn& column = table.columns[c];
        const int64_t last = column.ends[3];
        Vec<Real> total;
        visit.begin(column.label);
        switch (column.ends[0] == last ? last - first : -1) {  // columns of one size are neighbours
            case 1: total = sum_cells<Ring, 1>(v, rows, values, first, visit); break;
            case 2: total = sum_cells<Ring, 2>(v, rows, values, first, visit); break;
            case 3: total = sum_cells<Ring, 3>(v, rows, values, first, visit); break;
            case 4: total = sum_cells<Ring, 4>(v, rows, values, first, visit); break;
            case 5: total = sum_cells<Ring, 5>(v, rows, values, first, visit); break;
            case 6: total = sum_cells<Ring, 6>(v, rows, values, first, visit); break;
            default:
                total = sum_cells<Ring>(v, rows, values, first, column.ends[0], visit);
                for (int k = 1; k < 4; ++k)
                    if (column.ends[k] > column.ends[k - 1])
                        total = Ring::join(total, sum_cells<Ring>(v, rows, values, column.ends[k - 1], column.ends[k],
                                                                  visit));
        }
        visit.end(column.label, total);
        first = last;
    }
}

// A visit that only takes totals.
template <class Real, class Emit>
struct EmitColumns {
    const Emit& emit;
    TAGLINE_INLINED void begin(int64_t) {}
    TAGLINE_INLINED void cell(int64_t, Vec<Real>) {}
    TAGLINE_INLINED void end(int64_t label, Vec<Real> total) { emit(label, total); }
};

// The labels that can be reached, by the distance from an end of the sentence: the same for all sentences, whose
// emissions are finite. Rows are added to numbers of which the smallest is asked for: +∞ where a label is out of reach.
template <class Real>
class ReachRows {
public:
    ReachRows(const Real* allowed, const PairTable& follow, int64_t T, int64_t L, Arena& scratch)
        : S_(padded<Real>(L)), rows_(take<Real>(scratch, (T + 2) * S_)) {
        Real *now = take<Real>(scratch, S_), *next = take<Real>(scratch, S_);
        for (int64_t j = 0; j < S_; ++j) {
            now[j] = allowed[j];
            rows_[T * S_ + S_ + j] = Real(__builtin_inf());
        }
        nowhere_ = rows_ + (T + 1) * S_;
        for (last_ = 0;; ++last_) {
            for (int64_t j = 0; j < S_; ++j) rows_[last_ * S_ + j] = now[j] > 0 ? Real(0) : Real(__builtin_inf());
            bool same = last_ > 0;
            for (int64_t j = 0; same && j < S_; ++j) same = rows_[last_ * S_ + j] == rows_[(last_ - 1) * S_ + j];
            if (same || last_ == T) break;
            follow_pairs(follow, now, S_, next);
            Real* spare = now;
            now = next;
            next = spare;
        }
    }

    int64_t place(int64_t distance) const { return distance < last_ ? distance : last_; }
    const Real* row(int64_t place) const { return rows_ + place * S_; }
    const Real* nowhere() const { return nowhere_; }

private:
    const int64_t S_;
    Real *const rows_, *nowhere_;
    int64_t last_;  // from here on nothing changes

};
