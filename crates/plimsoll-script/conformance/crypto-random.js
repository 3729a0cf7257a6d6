/* { "does": "random bytes, hexEncode and the global crypto", "k6": "k6 gives back another array than it was given", "console": ["10 true", "ff00", "true true 4"] } */
import { randomBytes, hexEncode } from 'k6/crypto';
export default function () {
  const bytes = randomBytes(10);
  console.log(bytes.byteLength, new Uint8Array(bytes).some((byte) => byte !== 0));
  console.log(hexEncode(new Uint8Array([255, 0]).buffer));
  const values = new Uint16Array(8);
  const uuid = crypto.randomUUID();
  console.log(crypto.getRandomValues(values) === values && values.some((v) => v > 255), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(uuid), uuid[14]);
}
