/* { "does": "global is the global object", "console": ["true object"] } */
export default function () {
  console.log(global === globalThis, typeof global.Math);
}
