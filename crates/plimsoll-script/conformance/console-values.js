/* { "does": "console shows values as k6 2.2 does", "k6": "its line for no values has no msg",
     "console": ["{ a: 1 }", "{ a: \"x\", b: [ 1, \"two\", { c: null } ], d: { e: null, f: [object Function] } }",
       "[ 1, 2, \"x\" ]", "s 1 true null undefined { a: 1 } [ 1 ]", "{}", "Error: boom", "{}", "[]",
       "[object Function]", "\"1970-01-01T00:00:00.000Z\"", "1.5 0 1e+21 NaN", "{ a-b: 1, q\": \"it's\" }",
       "{ a: [] }", "{}", "Uint8Array(2) [ 1, 2 ]", "5", ""] } */
export default function () {
  console.log({ a: 1 });
  console.log({ a: 'x', b: [1, 'two', { c: null }], d: { e: undefined, f() {} } });
  console.log([1, 2, 'x']);
  console.log('s', 1, true, null, undefined, { a: 1 }, [1]);
  console.log(new Map([[1, 2]]));
  console.log(new Error('boom'));
  console.log({});
  console.log([]);
  console.log(() => 1);
  console.log(new Date(0));
  console.log(1.5, -0, 1e21, NaN);
  console.log({ 'a-b': 1, 'q"': "it's" });
  console.log({ a: [] });
  console.log(/x/g);
  console.log(new Uint8Array([1, 2]));
  console.log(BigInt(5));
  console.log();
}
