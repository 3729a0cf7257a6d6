/* { "does": "modern syntax runs", "console": ["3 1 x 2 true 6 b,a"] } */
export default function () {
  const o = { a: { b: null }, get c() { return 2; } };
  class A { #p = 3; static q = 1; p() { return this.#p; } }
  const sum = (...n) => n.reduce((a, b) => a + b, 0);
  console.log(new A().p(), A.q, o.a?.b ?? 'x', o.c, 2n ** 3n === 8n, sum(1, 2, 3), ['a', 'b'].toReversed().join());
}
