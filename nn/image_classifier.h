// SPDX-License-Identifier: Apache-2.0
// What all models that put an image into one of several classes have in common; training works on it.
#pragma once

#include <cstdint>

#include "tare/autograd/ops.h"
#include "tare/nn/module.h"

namespace tare::nn {

class ImageClassifier : public Module {
 public:
  virtual int64_t num_classes() const = 0;
  virtual int64_t num_channels() const = 0;
  virtual int64_t image_size() const = 0;  // height and width

  // images (B, num_channels(), image_size(), image_size()) of the parameters' dtype -> logits
  // (B, num_classes()). Error on any other shape or dtype.
  virtual Var forward(const Tensor& images) const = 0;
  // scale times the sum of the cross-entropies of the labels (B) i64, those that are not -100, and their
  // number. With the count of a whole batch known beforehand, scale = 1 / count gives the gradients of its
  // mean, however it is cut into micro-batches. Error on a label outside [0, num_classes()).
  LossSum loss(const Tensor& images, const Tensor& labels, double scale = 1) const;

 protected:
  // Error, in the name of `model`, unless images are as forward() takes them.
  void check_images(const char* model, const Tensor& images, DType dtype) const;
};

}  // namespace tare::nn
