#include "env/fiber/fiber.h"

#include <exception>
#include <memory>
#include <utility>

#include "base/check.h"

namespace booblik::env {

// Boost frees the stack of an ended context through this; the stack is ours, so it does nothing.
struct Fiber::KeepStack {
  static boost::context::stack_context allocate() { return {}; }
  static void deallocate(boost::context::stack_context&) {}
};

Fiber::Fiber(StackPool& stacks, std::move_only_function<void()> body)
    : stacks_(stacks), body_(std::move(body)), stack_(stacks.acquire()) {
  self_.lowest = stack_.lowest;
  self_.size = stack_.size;
  create_identity(self_);
  build_context();
}

void Fiber::build_context() {
  boost::context::stack_context memory;
  memory.sp = stack_.lowest + stack_.size;
  memory.size = stack_.size;
  // Boost goes to the new stack and back once while it builds a context, so the sanitizers see two switches.
  before_switch(resumer_, self_);
  context_ = boost::context::fiber(
      std::allocator_arg, boost::context::preallocated(memory.sp, memory.size, memory), KeepStack{},
      [this](boost::context::fiber&& resumer) { return run(std::move(resumer)); });
  after_switch(resumer_, resumer_);
  StackIdentity here = self_;
  before_switch(here, resumer_);
  after_switch(here, here);
}

Fiber::~Fiber() {
  if (!ended_) {
    unwind();
  }
}

void Fiber::resume() {
  BOOBLIK_CHECK(!running_ && !ended_, "only a fiber that is suspended is resumed");
  running_ = true;
  before_switch(resumer_, self_);
  context_ = std::move(context_).resume();
  if (ended_) {
    after_return(resumer_);
  }
  after_switch(resumer_, self_);
  running_ = false;
  if (ended_) {
    release_stack();
  }
}

void Fiber::suspend() {
  BOOBLIK_CHECK(running_, "a fiber is suspended by its own body");
  BOOBLIK_CHECK(!unwinding_, "a body that is being unwound does not suspend");
  before_switch(self_, resumer_);
  context_ = std::move(context_).resume();
  after_switch(self_, resumer_);
  if (unwinding_) {
    throw Unwind{};
  }
}

void Fiber::unwind() {
  BOOBLIK_CHECK(!running_, "a body cannot unwind itself");
  if (ended_) {
    return;
  }
  unwinding_ = true;
  resume();
  BOOBLIK_CHECK(ended_, "a body that is unwound ends");
}

void Fiber::abandon() {
  BOOBLIK_CHECK(!running_, "a body cannot abandon itself");
  if (ended_) {
    return;
  }
  // Both would be destroyed with what they refer to; made anew over themselves they forget it.
  std::construct_at(&context_);
  std::construct_at(&body_);
  ended_ = true;
  release_stack();
}

boost::context::fiber Fiber::run(boost::context::fiber resumer) noexcept {
  context_ = std::move(resumer);
  after_switch(self_, resumer_);
  if (!unwinding_) {
    try {
      body_();
    } catch (const Unwind&) {
    } catch (...) {
      std::terminate();  // in here it names the exception
    }
  }
  // What the body holds is destroyed on its own stack, like everything else of it.
  body_ = nullptr;
  ended_ = true;
  before_return(self_, resumer_);
  return std::move(context_);
}

void Fiber::release_stack() {
  destroy_identity(self_);
  stacks_.release(std::exchange(stack_, Stack{}));
}

}  // namespace booblik::env
