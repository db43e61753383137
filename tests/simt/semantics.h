// SPDX-License-Identifier: Apache-2.0
// Small correct kernels whose results CUDA's programming guide defines.
#pragma once
#include <string_view>
#include <vector>

#include <cuda_runtime.h>

namespace simt_test {

void run_collectives(int* out);  // one result each, in the order of expected_collectives()
std::vector<int> expected_collectives();
void run_indices(int* out);  // grid (3, 2, 2), block (4, 3, 2): each thread writes its linear number there
void run_histogram(int* bins, float* sum, int n);  // bins[i % 16] for i < n; sum grows by 0.5 for each
void run_spin_lock(int* lock);                     // lock[1] counts the holders: 2 blocks of 8 warps
void run_dynamic_shared(int* out, size_t bytes);   // out: address modulo 128, the last byte
void run_nothing(dim3 grid, dim3 block, size_t smem);
void run_throwing(cudaStream_t stream = nullptr);  // thread 5 throws
void run_fill(int* p, int value, cudaStream_t stream);
void run_copy(const int* from, int* to, cudaStream_t stream);
std::string_view name_of_template_kernel();

}  // namespace simt_test
