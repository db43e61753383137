// SPDX-License-Identifier: Apache-2.0
#include "tare/nn/image_classifier.h"

namespace tare::nn {

LossSum ImageClassifier::loss(const Tensor& images, const Tensor& labels, double scale) const {
  const LossSum total = cross_entropy(forward(images), labels);
  return scale == 1 ? total : LossSum{total.sum * scale, total.count};
}

void ImageClassifier::check_images(const char* model, const Tensor& images, DType dtype) const {
  const int64_t side = image_size();
  TARE_CHECK(images.defined() && images.dim() == 4 && images.size(1) == num_channels() &&
                 images.size(2) == side && images.size(3) == side,
             model, ": images have shape ", images.defined() ? images.shape() : Shape{}, ", expected (B, ",
             num_channels(), ", ", side, ", ", side, ")");
  TARE_CHECK(images.dtype() == dtype, model, ": images are ", images.dtype(), ", the parameters ", dtype);
}

}  // namespace tare::nn
