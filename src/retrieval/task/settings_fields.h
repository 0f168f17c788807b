// Every setting of a training, by name: files and the command line go through this list, so that neither
// can forget one.
#pragma once

#include "retrieval/task/settings.h"

namespace sharpmax::retrieval {

// visit(name, value, meaning) for each; Settings may be const.
template <class Settings, class Visit>
void each_field(Settings& s, const Visit& visit) {
  visit("encoder", s.encoder, "Of items and query: mlp (two layers, GELU) or linear");
  visit("width", s.width, "Of every vector within the head");
  visit("classes", s.classes, "How many an item may have");
  visit("scale_scores", s.scale_scores, "By 1/sqrt(width): true or false");
  visit("normalizer", s.normalizer, "The head is trained with this one, its parameters learned");
  visit("steps", s.steps, "Of training");
  visit("batch", s.batch, "Sets in a step");
  visit("least_size", s.least_size, "Fewest items of a training set");
  visit("largest_size", s.largest_size, "Most items of a training set");
  visit("crowding", s.crowding, "Squeeze some training sets into a window: none, anywhere or top");
  visit("crowded", s.crowded, "The share of sets that are squeezed");
  visit("least_width", s.least_width, "Windows have log-uniform widths from this to 1");
  visit("learning_rate", s.learning_rate, "Adam's, at the beginning");
  visit("schedule", s.schedule, "Of the learning rate: constant, cosine or geometric");
  visit("final_learning_rate", s.final_learning_rate, "At the end, with the geometric schedule");
  visit("weight_decay", s.weight_decay, "Decoupled, as AdamW's");
  visit("beta1", s.beta1, "Adam's");
  visit("beta2", s.beta2, "Adam's");
  visit("epsilon", s.epsilon, "Adam's");
  visit("clip", s.clip, "Largest norm of the gradient; 0: any");
  visit("precision", s.precision, "Of training: float32 or float64");
}

}  // namespace sharpmax::retrieval
