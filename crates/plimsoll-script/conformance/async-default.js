/* { "own_context": "promises", "does": "async functions run to their end; await and sleep work in them", "console": ["one", "two", "three"], "slept_ms": 1100 } */
import { sleep } from 'k6';
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
export default async function () {
  console.log('one');
  await pause(100);
  sleep(1);
  console.log('two');
  await null;
  console.log('three');
}
