/* { "does": "bytes are encoded and decoded without loss", "console": ["AAEC/w== 0,1,2,255"] } */
import { b64encode, b64decode } from 'k6/encoding';
export default function () {
  const bytes = new Uint8Array([0, 1, 2, 255]);
  console.log(b64encode(bytes.buffer), new Uint8Array(b64decode('AAEC/w==')).join());
}
