/* { "does": "an exception ends the iteration, the next one runs", "iterations": 2, "exception": "TypeError", "console": ["0", "1"] } */
export default function () {
  console.log(__ITER);
  undefined.x;
}
