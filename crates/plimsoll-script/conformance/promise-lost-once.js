/* { "own_context": "promises", "does": "what one iteration lost is no exception of the next", "iterations": 2, "console": ["second"] } */
export default function () {
  if (__ITER === 0) {
    Promise.reject(new Error('first'));
    return;
  }
  console.log('second');
}
