/* { "own_context": "promises", "does": "a rejected promise may be looked at later, before the virtual user waits for something else", "console": ["Error: one", "Error: two", "Error: three", "3"] } */
import { sleep } from 'k6';
const failing = async (text) => { throw new Error(text); };
export default async function () {
  const all = ['one', 'two', 'three'].map(failing);
  sleep(0.1);
  await null;
  for (const one of all) {
    one.catch((error) => console.log(String(error)));
    await null;
  }
  console.log((await Promise.allSettled(all)).filter((one) => one.status === 'rejected').length);
}
