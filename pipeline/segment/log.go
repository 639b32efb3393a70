package segment

import (
	"math"
	"math/big"
)

// logarithm returns the natural logarithm of a positive number, correctly rounded. The words of a text depend on the
// last bit of the weights: cppjieba takes the more probable of two ways to cut, and of equal ones the first.
// math.Log differs in the last bit from the logarithm of glibc, which cppjieba uses, on 51 of the 5,087 weights of
// the dictionary. The correctly rounded logarithm is equal on all of them.
func logarithm(x float64) float64 {
	// One step of Newton's method from an approximation y with an error below 1e-14: log x is y + (x / exp y - 1),
	// with an error below 1e-28.
	y := new(big.Float).SetPrec(precision).SetFloat64(math.Log(x))
	ratio := exp(new(big.Float).Neg(y))
	ratio.Mul(ratio, big.NewFloat(x))
	ratio.Sub(ratio, big.NewFloat(1))
	f, _ := y.Add(y, ratio).Float64()
	return f
}

const precision = 160 // bits

// exp returns the exponential: the Taylor series of x / 65536, squared 16 times.
func exp(x *big.Float) *big.Float {
	const squares = 16
	x = new(big.Float).SetMantExp(x, -squares)
	term := new(big.Float).SetPrec(precision).SetInt64(1)
	sum := new(big.Float).SetPrec(precision).SetInt64(1)
	for i := int64(1); i < 20; i++ { // |x| is below 50 / 65536, so the 20th term is below 1e-80
		term.Mul(term, x)
		term.Quo(term, new(big.Float).SetInt64(i))
		sum.Add(sum, term)
	}
	for range squares {
		sum.Mul(sum, sum)
	}
	return sum
}
