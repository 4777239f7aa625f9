// FloatEnvironment: while one lives, this thread rounds to nearest even, keeps subnormals and
// raises no traps, whatever the program around set up (torch processes may flush subnormals to
// zero); the old state comes back with its end. Entry points and bodies of parallel loops hold one.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace trilith::kernels {

class FloatEnvironment {
 public:
  FloatEnvironment() : saved_(read()) {
    if (saved_ != kDefault) write(kDefault);
  }
  ~FloatEnvironment() {
    if (saved_ != kDefault) write(saved_);
  }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
#if defined(__x86_64__)
  using State = uint32_t;
  static constexpr State kDefault = 0x1f80;  // all exceptions masked, nearest even, no DAZ or FTZ
  // The sticky exception flags (low six bits) say nothing about the mode.
  static State read() { return _mm_getcsr() & ~State{0x3f}; }
  static void write(State state) { _mm_setcsr(state); }
#elif defined(__aarch64__)
  using State = uint64_t;
  static constexpr State kDefault = 0;
  static State read() {
    State state;
    __asm__ volatile("mrs %0, fpcr" : "=r"(state));
    return state;
  }
  static void write(State state) { __asm__ volatile("msr fpcr, %0" : : "r"(state)); }
#else
#error "the floating-point environment of this architecture is not described"
#endif

  State saved_;
};

}  // namespace trilith::kernels
