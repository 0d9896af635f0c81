import { toast } from "../ui/toast.js";
export const publish = () => toast("Not here yet", "warn");
