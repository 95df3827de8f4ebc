// Asked of a variant: is E one of its types?
#pragma once
#include <concepts>
#include <variant>

namespace dw {

template <typename E, typename Variant>
inline constexpr bool is_alternative = false;
template <typename E, typename... Es>
inline constexpr bool is_alternative<E, std::variant<Es...>> = (std::same_as<E, Es> || ...);

}  // namespace dw
