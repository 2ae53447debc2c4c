// One function a topic; module.cpp calls them all.
#pragma once

#include <nanobind/nanobind.h>

namespace tagline::bindings {

void bind_answers(nanobind::module_& m);
void bind_baum_welch(nanobind::module_& m);
void bind_brown(nanobind::module_& m);
void bind_byte_expressions(nanobind::module_& m);
void bind_chain(nanobind::module_& m);
void bind_columns(nanobind::module_& m);
void bind_double_array(nanobind::module_& m);
void bind_features(nanobind::module_& m);
void bind_items(nanobind::module_& m);
void bind_mira(nanobind::module_& m);
void bind_online(nanobind::module_& m);
void bind_patterns(nanobind::module_& m);
void bind_runs(nanobind::module_& m);
void bind_runtime(nanobind::module_& m);
void bind_second_order(nanobind::module_& m);
void bind_segments(nanobind::module_& m);
void bind_sequences(nanobind::module_& m);
void bind_text(nanobind::module_& m);
void bind_trigram(nanobind::module_& m);
void bind_vectors(nanobind::module_& m);
void bind_weight_lines(nanobind::module_& m);
void bind_weights(nanobind::module_& m);
void bind_word_scores(nanobind::module_& m);

}  // namespace tagline::bindings
