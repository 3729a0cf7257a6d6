/* { "own_context": "promises", "does": "a rejected promise that nobody looks at is an exception of the iteration, which ends at once", "exception": "Uncaught (in promise) Error: lost", "console": ["started"] } */
export default function () {
  setTimeout(() => console.log('never'), 1000);
  Promise.resolve().then(() => { throw new Error('lost'); });
  console.log('started');
}
