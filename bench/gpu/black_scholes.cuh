// European call and put by Black and Scholes with CUDA's accurate single-precision functions: one text for our kernels and their peers.
#pragma once

namespace query::gpu::bench {

struct option_prices {
  float call, put;
};

__host__ __device__ inline option_prices price_option(float price, float strike, float years) {
  constexpr float rate = 0.02f, volatility = 0.30f, half_root = 0.70710678f;
  const float deviation = volatility * sqrtf(years);
  const float d1 = (logf(price / strike) + (rate + 0.5f * volatility * volatility) * years) / deviation;
  const float below_d1 = 0.5f * erfcf(-half_root * d1), below_d2 = 0.5f * erfcf(-half_root * (d1 - deviation));
  const float discounted = strike * expf(-rate * years);
  return {price * below_d1 - discounted * below_d2, discounted * (1.0f - below_d2) - price * (1.0f - below_d1)};
}

}  // namespace query::gpu::bench
