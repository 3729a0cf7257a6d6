/* { "does": "randomSeed makes Math.random repeat", "console": ["true true"] } */
import { randomSeed } from 'k6';
export default function () {
  const draw = () => { randomSeed(42); return [Math.random(), Math.random()].join(); };
  const first = draw();
  console.log(first === draw(), Math.random() < 1);
}
